import { slowClients } from "../slow-clients.ts";
import type { Collected } from "../harness/report.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("slow-clients", function () {
  this.timeout(120_000);

  let built: Collected;
  let broken: Collected;

  // The runs mostly wait, so run both concurrently.
  before(async () => {
    [built, broken] = await Promise.all([
      quickRun(slowClients),
      quickRun(slowClients, { variant: "broken-node-defaults" }),
    ]);
  });

  it("ERR-21 closes the connections of slow clients, and keeps responding to /health", () => {
    expectHeld(built);
  });

  it("fails for a server with Node's defaults", () => {
    expectBroken(broken, /slow headers: every connection is closed/);
    expectBroken(broken, /slow body: every connection is closed/);
  });
});
