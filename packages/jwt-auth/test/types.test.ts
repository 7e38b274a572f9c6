import { subtle } from "node:crypto";
import { createServer } from "node:http";
import type { Middleware } from "@svc/context";
import {
  createVerifier,
  currentPrincipal,
  jwtAuth,
  type JwtAuth,
  type KeySource,
  optionalAuth,
  principalOf,
  requireAuth,
  requireRoles,
  requireScopes,
  type RevocationCheck,
  type VerificationKey,
} from "@svc/jwt-auth";
import { expect } from "chai";
import connect from "connect";
import express4, { type RequestHandler as Handler4 } from "express4";
import { exportJWK } from "jose";
import { keyFixture, pemOf } from "./support/key-fixtures.ts";
import express5, { type RequestHandler as Handler5 } from "express";

// The compiler is the test: it must accept this code, and reject each line after @ts-expect-error.
describe("the types", () => {
  const auth: JwtAuth = jwtAuth({ secret: "s".repeat(32) });

  it("keep the parameter types of an Express 5 route after a guard", () => {
    const app = express5();
    app.get("/items/:id", requireScopes("a"), requireRoles("r"), (req, res) => {
      const id: string = req.params.id;
      // @ts-expect-error -- unknown parameter
      const other: unknown = req.params.other;
      res.json({ id, other, caller: principalOf(req)?.subject });
    });
    expect(app.router.stack).to.have.length(1);
  });

  it("keep the parameter types of an Express 4 route after a guard", () => {
    const app = express4();
    app.get("/items/:id", requireScopes("a"), optionalAuth(), (req, res) => {
      const id: string = req.params.id;
      // @ts-expect-error -- unknown parameter
      const other: unknown = req.params.other;
      res.json({ id, other, caller: principalOf(req)?.subject });
    });
    expect(app).to.be.a("function");
  });

  it("accept the middleware and the guards in Connect, Express 4, Express 5 and a bare server", () => {
    const four: Handler4[] = [auth, requireAuth()];
    const five: Handler5[] = [auth, requireAuth()];
    const all: Middleware[] = [auth, requireAuth(), requireScopes("a"), requireRoles("r"), optionalAuth()];
    const apps = [
      connect().use(auth),
      express4().use(...four),
      express5().use(...five),
      createServer((req, res) => auth(req, res, () => res.end(currentPrincipal().subject))),
    ];
    expect([apps.length, all.length]).to.eql([4, 5]);
  });

  it("reject a guard that was not called", () => {
    // @ts-expect-error -- a guard that was not called would never answer
    const auth: Middleware = requireAuth;
    // @ts-expect-error -- a guard that was not called would never answer either
    const optional: Handler5 = optionalAuth;
    expect(auth).not.to.equal(optional);
  });

  it("accept stores that return a result or a promise", () => {
    const now: RevocationCheck = { isRevoked: ({ jti }) => jti === "x" };
    const later: RevocationCheck = { isRevoked: async ({ fam }) => fam === "x" };
    // @ts-expect-error -- a count is not a boolean
    const count: RevocationCheck = { isRevoked: () => 1 };
    expect([now, later, count]).to.have.length(3);
  });

  it("accept every form of a key, and a function that returns one", async () => {
    const { publicKey } = keyFixture("p256");
    const algorithm = { name: "ECDSA", namedCurve: "P-256" };
    const { publicKey: cryptoKey } = await subtle.generateKey(algorithm, false, ["sign", "verify"]);
    const exported = publicKey.export({ format: "jwk" });
    const ofSubtle = await subtle.exportKey("jwk", cryptoKey);
    const ofJose = await exportJWK(publicKey);
    const { kty = "", crv = "", x = "", y = "" } = ofJose;
    const forms: VerificationKey[] = [publicKey, cryptoKey, exported, ofSubtle, ofJose, pemOf("p256")];
    const written = { kty: "EC", crv, x, y, kid: "a" };
    for (const keys of [...forms, written, { keys: [exported] }, { keys: [ofJose, { kty, crv, x, y }] }]) {
      createVerifier({ keys, algorithms: ["ES256"] });
    }
    const audience = "orders";
    jwtAuth({ keys: { kty: "EC", crv, x, y, kid: "a", use: "sig" }, audience });
    jwtAuth({ keys: ({ alg, kid }) => (alg === "ES256" && kid === "a" ? publicKey : undefined), audience });
    jwtAuth({ keys: async (header) => (header["tenant"] === "b" ? exported : cryptoKey), audience });
    // @ts-expect-error -- a number is not a key
    expect(() => jwtAuth({ keys: 7, audience })).to.throw("must be a key source");
    // @ts-expect-error -- a function must not return bytes
    jwtAuth({ keys: () => Buffer.from("x"), audience });
  });

  it("reject unknown options, and accept undefined for known options", () => {
    const keys: KeySource = { generation: 0, find: () => undefined };
    jwtAuth({ keys, issuer: undefined, audience: "a", revocation: undefined, logger: undefined });
    // @ts-expect-error -- misspelled option
    expect(() => jwtAuth({ keys, isuer: "x" })).to.throw("did you mean issuer?");
    // @ts-expect-error -- unknown algorithm
    expect(() => jwtAuth({ keys, algorithms: ["none"] })).to.throw("none");
  });
});
