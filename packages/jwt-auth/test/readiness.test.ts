import type { CheckResult, ReadinessCheck } from "@svc/context";
import { jwtAuth, type KeySource } from "@svc/jwt-auth";
import { expect } from "chai";
import { everyKey } from "./support/fixed-keys.ts";

const { signal } = new AbortController();

/** A key source whose readiness is what the test says. */
function source(result: CheckResult | Promise<CheckResult>, critical = true): KeySource {
  const check: ReadinessCheck = { name: "keys", critical, check: () => result };
  return { ...everyKey(), readiness: () => check };
}

describe("the check auth", () => {
  it("is healthy and not critical where keys cannot fail", async () => {
    const check = jwtAuth({ keys: everyKey() }).readiness();
    expect([check.name, check.critical]).to.eql(["auth", false]);
    expect(await check.check(signal)).to.eql({
      healthy: true,
      critical: false,
      detail: "the keys are at hand",
    });
  });

  it("RDY-14 is critical when the keys are, and says what they say", async () => {
    const never = { healthy: false, detail: "no key was ever fetched" };
    const check = jwtAuth({ keys: source(never) }).readiness();
    expect([check.name, check.critical]).to.eql(["auth", true]);
    expect(await check.check(signal)).to.eql({ ...never, critical: true });
  });

  it("RDY-14 is not critical while there are old keys, whose age it passes on", async () => {
    const old = { healthy: false, critical: false, detail: "the keys are 900 s old", meta: { keys: 2 } };
    const check = jwtAuth({ keys: source(old) }).readiness();
    expect(await check.check(signal)).to.eql(old);
  });

  it("takes a source that answers later too", async () => {
    const later = Promise.resolve({ healthy: true, detail: "2 keys" });
    const check = jwtAuth({ keys: source(later) }).readiness();
    expect(await check.check(signal)).to.eql({ healthy: true, detail: "2 keys", critical: false });
  });

  it("RDY-14 answers at once in every mode of its own, before a key was fetched too", () => {
    const url = "https://issuer.invalid/jwks";
    for (const auth of [jwtAuth({ secret: "s".repeat(32) }), jwtAuth({ jwksUrl: url, jwksAttempts: 1 })]) {
      expect(auth.readiness().check(signal)).to.have.property("healthy");
      auth.stop();
    }
  });
});
