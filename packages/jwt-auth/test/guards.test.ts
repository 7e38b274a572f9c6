import type { IncomingMessage, ServerResponse } from "node:http";
import { openContext, type Principal, runWithContext, RequestContext } from "@svc/context";
import {
  currentPrincipal,
  optionalAuth,
  principalOf,
  requireAuth,
  requireRoles,
  requireScopes,
} from "@svc/jwt-auth";
import { ConfigurationError } from "@svc/options";
import { isProblemError } from "@svc/problem";
import { expressMajors, listen } from "@svc/test-support";
import { expect } from "chai";

const GUARD = Symbol.for("@svc/guard");

const principal: Principal = {
  subject: "ada",
  scopes: ["a"],
  roles: [],
  tenant: undefined,
  tokenId: undefined,
  family: undefined,
  issuer: undefined,
  expiresAt: undefined,
  claims: {},
};

describe("guards", () => {
  it("describe their requirements as sorted, frozen lists without duplicates", () => {
    const cases = [
      [requireAuth(), { kind: "auth", values: [] }],
      [requireScopes("b", "a", "b"), { kind: "scopes", values: ["a", "b"] }],
      [requireRoles("z", "y"), { kind: "roles", values: ["y", "z"] }],
      [optionalAuth(), { kind: "optional_auth", values: [] }],
    ] as const;
    for (const [guard, expected] of cases) {
      const said = (guard as unknown as Record<symbol, { values: string[] }>)[GUARD];
      expect(said).to.eql(expected);
      expect(() => said?.values.push("x")).to.throw(TypeError);
      expect(Object.keys(guard)).to.eql([]);
    }
  });

  it("have a function name for stack traces and the three parameters that Express expects", () => {
    const guards = [requireAuth(), requireScopes("a"), requireRoles("a"), optionalAuth()];
    expect(guards.map(({ name, length }) => [name, length])).to.eql([
      ["requireAuthGuard", 3],
      ["requireScopesGuard", 3],
      ["requireRolesGuard", 3],
      ["optionalAuthGuard", 3],
    ]);
  });

  it("restore currentPrincipal() after a middleware lost the current context (AUTH-18)", async () => {
    const guards = [requireAuth(), requireScopes("a"), requireRoles("admin"), optionalAuth()];
    for (const guard of guards) {
      const req = {} as IncomingMessage;
      openContext(req).principal = { ...principal, roles: ["admin"] };
      let current: string | undefined;
      guard(req, {} as ServerResponse, (error) => {
        current = error === undefined ? currentPrincipal().subject : "refused";
      });
      expect([guard.name, current]).to.deep.equal([guard.name, "ada"]);
    }
  });

  it("reject missing names, a list, a request, and names that no token can contain", () => {
    const request = { method: "GET", headers: {} };
    const wrong: readonly (readonly [unknown[], RegExp])[] = [
      [[], /must not be empty; use requireAuth\(\) to accept any verified caller/],
      [[["a", "b"]], /argument 1 is a list; pass the names one by one/],
      [[request, {}, () => undefined], /argument 1 is an object; call the guard with names/],
      [["a", ""], /argument 2 must be .*; it is ""/],
      [["  "], /argument 1 must be/],
      [["a", undefined], /argument 2 must be .*; it is undefined/],
      [["a", null], /argument 2 must be/],
      [[7], /argument 1 must be .*; it is number/],
    ];
    for (const make of [requireScopes, requireRoles] as ((...names: unknown[]) => unknown)[]) {
      for (const [names, message] of wrong) {
        expect(() => make(...names), JSON.stringify(names))
          .to.throw(ConfigurationError, message)
          .with.property("code", "ERR_SVC_CONFIGURATION");
      }
    }
    expect(() => requireScopes("a b")).to.throw(
      ConfigurationError,
      /a scope without white space; it is "a b"/,
    );
    expect(requireRoles("Domain Admins")).to.be.a("function");
  });

  for (const [major, express] of Object.entries(expressMajors)) {
    it(`return 500 instead of hanging when they are mounted without being called, on ${major}`, async () => {
      const uncalled = [requireAuth, optionalAuth] as unknown as ReturnType<typeof requireAuth>[];
      for (const guard of uncalled) {
        const faults: unknown[] = [];
        const app = express();
        app.get("/", guard);
        app.use((error: unknown, _req: IncomingMessage, res: ServerResponse, _next: unknown) => {
          faults.push(error);
          res.statusCode = 500;
          res.end();
        });
        await using server = await listen(app);
        expect((await fetch(server.url)).status).to.equal(500);
        expect(faults[0]).to.be.instanceOf(ConfigurationError);
        expect(String(faults[0])).to.match(/must be empty; write (require|optional)Auth\(\) with/);
      }
    });
  }

  it("compare whole names, including their case (AUTH-15, AUTH-16)", async () => {
    for (const guard of [
      requireScopes("A"),
      requireScopes("aa"),
      requireScopes("a", "A"),
      requireRoles("a"),
    ]) {
      const fault = await run(guard, principal);
      expect(isProblemError(fault) && fault.status).to.equal(403);
    }
    expect(await run(requireScopes("a"), principal)).to.equal(undefined);
  });

  it("reject requests with a 401 or 403 problem that has a code (AUTH-11, AUTH-13, ERR-13, ERR-14)", async () => {
    const codes = [];
    for (const [guard, caller] of [
      [requireAuth(), undefined],
      [requireScopes("b"), undefined],
      [requireRoles("b"), undefined],
      [requireScopes("b"), principal],
      [requireRoles("b"), principal],
    ] as const) {
      const fault = await run(guard, caller);
      if (isProblemError(fault)) codes.push([fault.status, fault.code]);
    }
    expect(codes).to.eql([
      [401, "ERR_SVC_UNAUTHORIZED"],
      [401, "ERR_SVC_UNAUTHORIZED"],
      [401, "ERR_SVC_UNAUTHORIZED"],
      [403, "ERR_SVC_MISSING_SCOPES"],
      [403, "ERR_SVC_MISSING_ROLES"],
    ]);
  });

  it("return 401 with WWW-Authenticate even without a problem handler (AUTH-11)", async () => {
    for (const express of Object.values(expressMajors)) {
      const app = express();
      app.set("env", "test");
      app.get("/me", requireAuth(), (_req, res) => void res.end("{}"));
      await using server = await listen(app);
      const response = await fetch(`${server.url}/me`);
      expect([response.status, response.headers.get("www-authenticate")]).to.eql([401, "Bearer"]);
    }
  });
});

describe("accessors", () => {
  it("return the caller of a request or job; without a caller, return undefined or throw the 401 (AUTH-18)", async () => {
    await using server = await listen((req, res) => {
      const before = principalOf(req);
      openContext(req).principal = principal;
      res.end(`${before?.subject} ${principalOf(req)?.subject}`);
    });
    expect(await (await fetch(server.url)).text()).to.equal("undefined ada");
    expect(runWithContext(new RequestContext({ principal }), currentPrincipal)).to.equal(principal);
    expect(currentPrincipal).to.throw("authentication required").with.property("status", 401);
    const nobody = (): unknown => runWithContext(new RequestContext(), currentPrincipal);
    expect(nobody).to.throw("authentication required").with.property("code", "ERR_SVC_UNAUTHORIZED");
  });
});

/** Returns the error that a guard passes to `next`. */
async function run(guard: ReturnType<typeof requireAuth>, caller: Principal | undefined): Promise<unknown> {
  let fault: unknown;
  await using server = await listen((req: IncomingMessage, res: ServerResponse) => {
    if (caller !== undefined) openContext(req).principal = caller;
    guard(req, res, (error) => {
      fault = error;
      res.end();
    });
  });
  await fetch(server.url);
  return fault;
}
