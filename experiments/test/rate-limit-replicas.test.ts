import { testProgram } from "@svc/dev-services";
import { rateLimitReplicas } from "../rate-limit-replicas.ts";
import { expectBroken, expectHeld, quickRun } from "./support/quick-run.ts";

describe("rate-limit-replicas", function () {
  this.timeout(120_000);
  testProgram("redis");

  it("RATE-3 RATE-5 admits over two replicas as many requests as one bucket allows, and all requests while Redis is frozen", async () => {
    expectHeld(await quickRun(rateLimitReplicas));
  });

  for (const [variant, what] of [
    ["broken-two-steps", "a store that reads a bucket in one step and writes it in another"],
    ["broken-fixed-window", "a store that counts in fixed windows"],
  ] as const) {
    it(`fails with ${what}`, async () => {
      expectBroken(await quickRun(rateLimitReplicas, { variant }), /no interval admits more/);
    });
  }
});
