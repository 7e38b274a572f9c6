import { slowClients } from "../slow-clients.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("slow-clients", function () {
  this.timeout(60_000);

  it("ERR-21 closes the connections of slow clients, and answers /health meanwhile", async () => {
    expectHeld(await quickRun(slowClients));
  });

  it("fails for a server with Node's defaults", async () => {
    const report = await quickRun(slowClients, { variant: "broken-node-defaults" });
    expectBroken(report, /slow headers: every connection is closed/);
    expectBroken(report, /slow body: every connection is closed/);
  });
});
