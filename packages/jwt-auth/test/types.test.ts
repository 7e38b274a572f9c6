import { subtle } from "node:crypto";
import { createServer, type IncomingMessage } from "node:http";
import type { Middleware, Principal } from "@svc/context";
import {
  type AuthGuard,
  createVerifier,
  currentPrincipal,
  jwtAuth,
  type JwtAuth,
  type JwtAuthOptions,
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
import express5, { type Request, type RequestHandler as Handler5 } from "express";

// The compiler is the test: it must accept this code, and reject each line after @ts-expect-error.
describe("the types", () => {
  const auth: JwtAuth = jwtAuth({ secret: "s".repeat(32) });

  it("accept a tokenFrom that declares the request of Express, but not one that returns a promise", () => {
    const options: JwtAuthOptions = {
      secret: "s".repeat(32),
      tokenFrom: (req: Request) => req.get("x-token"),
    };
    expect(jwtAuth(options)).to.be.a("function");
    // @ts-expect-error -- a promise is not a token
    const wrong: JwtAuthOptions = { tokenFrom: async (req: Request) => req.get("x-token") };
    expect(wrong).to.have.property("tokenFrom");
  });

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

  it("make principalOf() return a Principal after a guard in the same call, in Express 4 and 5", () => {
    const guards = [requireAuth(), requireScopes("a"), requireRoles("r")] as const;
    for (const guard of guards) {
      express5().get("/items/:id", express5.json(), guard, (req, res) => {
        const { subject }: Principal = principalOf(req);
        const id: string = req.params.id;
        res.locals["note"] = subject;
        const note: string = res.locals["note"];
        res.json({ id, note });
      });
      express5.Router().post("/items/:id", guard, optionalAuth(), async (req, res) => {
        const { subject }: Principal = principalOf(req);
        res.json({ id: req.params.id, subject });
      });
      express4().get("/items/:id", guard, (req, res) => {
        const { subject }: Principal = principalOf(req);
        const id: string = req.params.id;
        res.json({ id, subject });
      });
      express4.Router().delete(/items/, guard, (req, res) => {
        const { subject }: Principal = principalOf(req);
        res.json({ subject });
      });
    }
    expect(guards).to.have.length(3);
  });

  it("make principalOf() possibly return undefined everywhere else", () => {
    const app = express5();
    const handler: Handler5 = (req, res) => {
      // @ts-expect-error -- the type of the handler does not say that there is a guard
      res.json(principalOf(req).subject);
    };
    app.get("/typed", requireAuth(), handler);
    app.get("/open", (req, res) => {
      // @ts-expect-error -- there is no guard
      res.json(principalOf(req).subject);
    });
    app.get("/optional", optionalAuth(), (req, res) => {
      // @ts-expect-error -- the guard admits requests without a caller
      res.json(principalOf(req).subject);
    });
    const router = express5.Router().use(requireAuth());
    router.get("/other-call", (req, res) => {
      // @ts-expect-error -- the guard is in another call
      res.json(principalOf(req).subject);
    });
    app.route("/route").get(requireAuth(), (req, res) => {
      // @ts-expect-error -- Express infers no types of its own in route()
      res.json(principalOf(req).subject);
    });
    express4().get("/open", (req, res) => {
      // @ts-expect-error -- there is no guard
      res.json(principalOf(req).subject);
    });
    const read: (req: IncomingMessage) => Principal | undefined = principalOf;
    const server = createServer((req, res) => {
      // @ts-expect-error -- a request without Express has no locals
      res.end(principalOf(req).subject);
    });
    expect([read, server]).to.have.length(2);
  });

  it("keep explicit types of a route and of its handlers beside a guard", () => {
    type Typed = Handler5<{ id: string }, string, { count: number }, { page?: string }, { user: string }>;
    const typed: Typed = (req, res) =>
      res.json(req.params.id + res.locals.user + req.body.count + req.query.page);
    const app = express5();
    app.post("/items/:id", requireAuth(), typed);
    app.post<{ id: string }, string, { count: number }>("/items/:id", requireAuth(), (req, res) => {
      const count: number = req.body.count;
      res.json(req.params.id + count);
    });
    const guard: AuthGuard = requireAuth();
    app.use(guard).use("/items", guard, express5.Router());
    expect(app.router.stack).to.have.length(5);
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
