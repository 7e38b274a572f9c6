import { testDatabase } from "@svc/dev-services";
import { expect } from "chai";
import { expectConformance, secretIn } from "../../support/conformance.ts";
import { runService, serviceFor } from "./support/running-service.ts";

const folder = new URL("../conformance/", import.meta.url);

describe("the full service", function () {
  this.timeout(180_000);
  const options = { seed: true, demoUsers: true };
  const env = { SVC_AUTH_SECRET: secretIn(folder) };
  const running = serviceFor(testDatabase({ name: "conformance" }), options, env);

  it("VER-4 passes the conformance kit, including the conventions, with a second replica", async () => {
    await using replica = await runService(running.databaseUrl, options, env);
    expect(await expectConformance(running.url, folder, "full", replica.url)).to.be.above(110);
  });
});
