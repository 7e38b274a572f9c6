import { jwtAuth, type KeySource } from "@svc/jwt-auth";
import { expect } from "chai";
import { failing, issuer as startIssuer } from "./support/issuer.ts";

const OWN = "https://own.example";
const FETCHED = "https://fetched.example";

/** Returns the result of the check `auth` for an application's source with this check and an issuer without keys. */
async function resultWith(check: () => unknown) {
  await using server = await startIssuer();
  server.answer(failing());
  const own = {
    generation: 0,
    find: () => undefined,
    readiness: () => ({ name: "own", critical: true, check }),
  } as object as KeySource;
  const issuers = [
    { issuer: OWN, keys: own, audience: "orders" },
    { issuer: FETCHED, jwksUrl: server.url, audience: "orders" },
  ];
  await using auth = jwtAuth({ issuers, env: "local", jwksAttempts: 1 });
  return await auth.readiness().check(new AbortController().signal);
}

describe("the readiness check of several issuers with an application's key source", () => {
  it("counts a result without a boolean `healthy` as failed (RDY-14)", async () => {
    for (const result of [undefined, null, "fine", {}, { healthy: "yes" }, [true]]) {
      const { healthy, critical, detail } = await resultWith(() => result);
      expect([healthy, critical]).to.eql([false, true]);
      expect(detail).to.equal(
        `${OWN}: the check must return an object with a boolean healthy; ${FETCHED}: no keys fetched yet`,
      );
    }
    const { healthy, critical, detail } = await resultWith(async () => ({ healthy: true, detail: {} }));
    expect([healthy, critical]).to.eql([false, false]);
    expect(detail).to.equal(`${OWN}: no detail; ${FETCHED}: no keys fetched yet`);
  });

  it("shows only the name of a thrown error, or `unknown error` if the name is not a plain word (RDY-14)", async () => {
    const unreadable = Object.defineProperty(new Error("x"), "name", {
      get() {
        throw new Error("secret text");
      },
    });
    for (const [error, expected] of [
      [new RangeError("secret text"), "RangeError"],
      [Object.assign(new Error("x"), { name: "https://user:secret@host" }), "unknown error"],
      [unreadable, "unknown error"],
      ["secret text", "unknown error"],
    ] as const) {
      const { detail } = await resultWith(() => {
        throw error;
      });
      expect(detail).to.equal(`${OWN}: the check failed (${expected}); ${FETCHED}: no keys fetched yet`);
    }
  });

  it("reports the other issuers while one check hangs (RDY-14)", async () => {
    const { healthy, critical, detail } = await resultWith(() => new Promise(() => undefined));
    expect([healthy, critical]).to.eql([false, true]);
    expect(detail).to.equal(`${OWN}: the check failed (DeadlineError); ${FETCHED}: no keys fetched yet`);
  });
});
