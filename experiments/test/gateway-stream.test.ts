import { gatewayStream } from "../gateway-stream.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("gateway-stream", function () {
  this.timeout(120_000);

  it("forwards large bodies in bounded memory, and ends requests of clients that disconnect", async () => {
    expectHeld(await quickRun(gatewayStream));
  });

  it("fails for a proxy that ignores backpressure", async () => {
    const report = await quickRun(gatewayStream, { variant: "broken-no-backpressure" });
    expectBroken(report, /download: memory grows/);
    expectBroken(report, /upload: memory grows/);
  });
});
