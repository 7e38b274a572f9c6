import { testDatabase } from "@svc/dev-services";
import { expect } from "chai";
import pg from "pg";
import { expectConformance, secretIn } from "../../support/conformance.ts";
import { runService, serviceFor } from "./support/running-service.ts";

const folder = new URL("../conformance/", import.meta.url);

describe("the full service", function () {
  this.timeout(180_000);
  const options = { seed: true, demoUsers: true };
  const env = { SVC_AUTH_SECRET: secretIn(folder) };
  const running = serviceFor(testDatabase({ name: "conformance" }), options, env);

  it("VER-4 keeps the contract and the conventions, with a second replica on its database", async () => {
    await using replica = await runService(running.databaseUrl, options, env);
    const store = new pg.Client({ connectionString: running.databaseUrl });
    await store.connect();
    try {
      const surroundings = { replica: replica.url, askStore: () => store.query("select 1") };
      const kept = await expectConformance(running.url, folder, "full", surroundings);
      expect(kept).to.be.above(110);
    } finally {
      await store.end();
    }
  });
});
