import { createServer } from "node:http";
import type { Middleware } from "@svc/context";
import {
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
} from "@svc/jwt-auth";
import { expect } from "chai";
import connect from "connect";
import express4, { type RequestHandler as Handler4 } from "express4";
import express5, { type RequestHandler as Handler5 } from "express";

// The compiler is the test here: what follows must be accepted, and refused where it says so.
describe("the types", () => {
  const auth: JwtAuth = jwtAuth({ secret: "s".repeat(32) });

  it("keep what Express 5 knows about the parameters of a route behind a guard", () => {
    const app = express5();
    app.get("/items/:id", requireScopes("a"), requireRoles("r"), (req, res) => {
      const id: string = req.params.id;
      // @ts-expect-error -- there is no such parameter
      const other: unknown = req.params.other;
      res.json({ id, other, caller: principalOf(req)?.subject });
    });
    expect(app.router.stack).to.have.length(1);
  });

  it("keep what Express 4 knows about the parameters of a route behind a guard", () => {
    const app = express4();
    app.get("/items/:id", requireScopes("a"), optionalAuth(), (req, res) => {
      const id: string = req.params.id;
      // @ts-expect-error -- there is no such parameter
      const other: unknown = req.params.other;
      res.json({ id, other, caller: principalOf(req)?.subject });
    });
    expect(app).to.be.a("function");
  });

  it("let the middleware and the guards into Connect, Express 4, Express 5 and a bare server", () => {
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

  it("refuse a guard that was not called", () => {
    // @ts-expect-error -- it would never answer
    const auth: Middleware = requireAuth;
    // @ts-expect-error -- the same
    const optional: Handler5 = optionalAuth;
    expect(auth).not.to.equal(optional);
  });

  it("take stores that answer at once and stores that take their time", () => {
    const now: RevocationCheck = { isRevoked: ({ jti }) => jti === "x" };
    const later: RevocationCheck = { isRevoked: async ({ fam }) => fam === "x" };
    // @ts-expect-error -- a count is no answer
    const count: RevocationCheck = { isRevoked: () => 1 };
    expect([now, later, count]).to.have.length(3);
  });

  it("refuse options that do not exist, and let them be undefined", () => {
    const keys: KeySource = { generation: 0, find: () => undefined };
    jwtAuth({ keys, issuer: undefined, audience: "a", revocation: undefined, logger: undefined });
    // @ts-expect-error -- misspelt
    expect(() => jwtAuth({ keys, isuer: "x" })).to.throw("did you mean issuer?");
    // @ts-expect-error -- no such algorithm
    expect(() => jwtAuth({ keys, algorithms: ["none"] })).to.throw("none");
  });
});
