import type { CheckResult, ReadinessCheck } from "@svc/context";
import { jwtAuth, type KeySource, requireAuth } from "@svc/jwt-auth";
import { collectingLogger, listen } from "@svc/test-support";
import { expect } from "chai";
import { everyKey } from "./support/fixed-keys.ts";
import { forge, now } from "./support/forge.ts";
import { keyFixture } from "./support/key-fixtures.ts";
import { ask, bearer, serve } from "./support/stacks.ts";

const { signal } = new AbortController();

/** Returns a key source with the given readiness result. */
function source(result: CheckResult | Promise<CheckResult>, critical = true): KeySource {
  const check: ReadinessCheck = { name: "keys", critical, check: () => result };
  return { ...everyKey(), readiness: () => check };
}

describe("the readiness check `auth`", () => {
  it("is healthy and not critical when the keys are configured instead of fetched", async () => {
    const check = jwtAuth({ keys: everyKey() }).readiness();
    expect([check.name, check.critical]).to.eql(["auth", false]);
    expect(await check.check(signal)).to.eql({
      healthy: true,
      critical: false,
      detail: "the keys are configured",
    });
  });

  it("is critical when the check of the key source is critical, and reports its detail (RDY-14)", async () => {
    const never = { healthy: false, detail: "no key was ever fetched" };
    const check = jwtAuth({ keys: source(never) }).readiness();
    expect([check.name, check.critical]).to.eql(["auth", true]);
    expect(await check.check(signal)).to.eql({ ...never, critical: true });
  });

  it("is not critical while stale keys are in use, and reports their age (RDY-14)", async () => {
    const old = { healthy: false, critical: false, detail: "the keys are 900 s old", meta: { keys: 2 } };
    const check = jwtAuth({ keys: source(old) }).readiness();
    expect(await check.check(signal)).to.eql(old);
  });

  it("accepts a source whose check returns a promise", async () => {
    const later = Promise.resolve({ healthy: true, detail: "2 keys" });
    const check = jwtAuth({ keys: source(later) }).readiness();
    expect(await check.check(signal)).to.eql({ healthy: true, detail: "2 keys", critical: false });
  });

  it("returns synchronously in every mode, even before the first fetch (RDY-14)", () => {
    const url = "https://issuer.invalid/jwks";
    for (const auth of [jwtAuth({ secret: "s".repeat(32) }), jwtAuth({ jwksUrl: url, jwksAttempts: 1 })]) {
      expect(auth.readiness().check(signal)).to.have.property("healthy");
      auth.stop();
    }
  });

  it("is critical until a key set has been fetched, and then healthy (RDY-14)", async () => {
    const { publicKey } = keyFixture("rsa2048");
    const keys = [{ ...publicKey.export({ format: "jwk" }), kid: "k" }];
    let isUp = false;
    await using issuer = await listen((_req, res) => {
      res.statusCode = isUp ? 200 : 404;
      res.end(JSON.stringify({ keys }));
    });
    const settings = { jwksUrl: issuer.url, env: "local", audience: "", now } as const;
    const token = bearer(forge({ header: { kid: "k" } }));
    const logger = collectingLogger();
    {
      await using down = jwtAuth({ ...settings, logger });
      await using server = await serve("bare http", [down], { "/me": [requireAuth()] });
      expect((await ask(`${server.url}/me`, token)).status).to.equal(401);
      expect(logger.lines.at(-1)?.fields["reason"]).to.equal("keys_unavailable");
      expect(await down.readiness().check(signal)).to.include({ healthy: false, critical: true });
    }
    isUp = true;
    await using up = jwtAuth(settings);
    await using server = await serve("bare http", [up], { "/me": [requireAuth()] });
    expect((await ask(`${server.url}/me`, token)).body.caller).to.equal("ada");
    expect(await up.readiness().check(signal)).to.include({ healthy: true, critical: false });
  });
});
