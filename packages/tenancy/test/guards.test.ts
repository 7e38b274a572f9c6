import type { IncomingMessage, ServerResponse } from "node:http";
import { type Middleware, RequestContext, runWithContext } from "@svc/context";
import { isProblemError, type ProblemError } from "@svc/problem";
import {
  currentTenant,
  requestedTenant,
  requestedTenantOf,
  requireTenant,
  tenancy,
  tenantOf,
  type TenancyOptions,
} from "@svc/tenancy";
import { listen } from "@svc/test-support";
import { expect } from "chai";
import { ask, type Asked } from "./support/ask.ts";
import { report, stacks, verified } from "./support/stacks.ts";

function thrown(run: () => unknown): ProblemError {
  try {
    run();
  } catch (error) {
    if (isProblemError(error)) return error;
    throw error;
  }
  throw new Error("nothing was thrown");
}

describe("the guards and accessors of @svc/tenancy", () => {
  it("describe their requirements to tools that list the routes", () => {
    const key = Symbol.for("@svc/guard");
    const described = (guard: Middleware): unknown => (guard as unknown as Record<symbol, unknown>)[key];
    expect(described(requireTenant())).to.eql({ kind: "tenant", values: [] });
    expect(described(requestedTenant())).to.eql({ kind: "requested_tenant", values: [] });
  });

  it("return 500 instead of hanging when a route was given a guard that was not called", async () => {
    for (const guard of [requireTenant, requestedTenant] as readonly unknown[]) {
      await using server = await listen(stacks["express 5"]!([verified, guard as Middleware], report));
      const { status, body } = await ask(server.port, { caller: { tenant: "acme" } });
      expect([status, body["title"]]).to.eql([500, "Internal Server Error"]);
      expect(() => (guard as (req: object) => unknown)({})).to.throw("with its parentheses");
    }
  });

  it("reject every request when tenancy() is missing (TEN-10)", async () => {
    for (const [guard, status] of [
      [requireTenant(), 403],
      [requestedTenant(), 404],
    ] as const) {
      await using server = await listen(stacks["bare http"]!([verified, guard], report));
      const request = { caller: { tenant: "acme" }, lines: ["X-Tenant-ID: acme"] };
      expect((await ask(server.port, request)).status).to.equal(status);
    }
  });

  it("restore currentTenant() after a middleware lost the current context (TEN-10)", async () => {
    const waiting: (() => void)[] = [];
    const elsewhere = setInterval(() => {
      for (const each of waiting.splice(0)) each();
    }, 1);
    try {
      const losing: Middleware = (_req, _res, next) => void waiting.push(() => next());
      const before = [verified, tenancy({ sources: ["token"] }), losing];
      for (const [guards, current] of [
        [[], undefined],
        [[requireTenant()], "acme"],
      ] as const) {
        await using server = await listen(stacks["bare http"]!([...before, ...guards], report));
        const { body } = await ask(server.port, { caller: { tenant: "acme" } });
        expect([body["tenant"], body["current"]]).to.eql(["acme", current]);
      }
    } finally {
      clearInterval(elsewhere);
    }
  });

  it("currentTenant() returns the tenant of a job, and throws the 403 outside of requests and jobs (TEN-10)", () => {
    expect(runWithContext(new RequestContext({ tenantId: "acme" }), currentTenant)).to.equal("acme");
    for (const error of [
      thrown(currentTenant),
      thrown(() => runWithContext(new RequestContext({ tenantClaimed: "acme" }), currentTenant)),
    ]) {
      expect([error.status, error.code]).to.eql([403, "ERR_SVC_TENANT_REQUIRED"]);
    }
  });

  it("return the granted tenant from tenantOf(), and the named tenant from requestedTenantOf() (TEN-20)", async () => {
    const seen: unknown[] = [];
    const note: Middleware = (req, _res, next) => {
      seen.push([tenantOf(req), requestedTenantOf(req)]);
      next();
    };
    const chain = [note, verified, tenancy({ sources: ["token", "path"] }), note];
    await using server = await listen(stacks["bare http"]!(chain, report));
    await ask(server.port, { target: "/t/globex/", caller: { tenant: "acme" } });
    await ask(server.port, { target: "/t/acme/", caller: { tenant: "acme" } });
    await ask(server.port, { caller: { tenant: "acme" } });
    const before = [undefined, undefined];
    expect(seen).to.eql([
      before,
      [undefined, "globex"],
      before,
      ["acme", "acme"],
      before,
      ["acme", undefined],
    ]);
  });

  it("set a code on the error of every refusal, and keep it out of the response (TEN-19)", async () => {
    async function codeOf(options: TenancyOptions, request: Asked, guard: Middleware): Promise<unknown> {
      let code: unknown;
      const chain = [
        verified,
        tenancy(options),
        guardNoting(guard, (error) => (code = (error as { code?: unknown }).code)),
      ];
      await using server = await listen(stacks["bare http"]!(chain, report));
      const { body } = await ask(server.port, request);
      expect(JSON.stringify(body)).to.not.include("ERR_SVC");
      return code;
    }
    const options = { sources: ["token", "path"] } as const;
    const target = "/t/globex/";
    const guard = requireTenant();
    expect(await codeOf(options, { target }, guard)).to.equal("ERR_SVC_UNAUTHORIZED");
    expect(await codeOf(options, { target, caller: { tenant: "a" } }, guard)).to.equal(
      "ERR_SVC_TENANT_MISMATCH",
    );
    expect(await codeOf(options, { target, caller: {} }, guard)).to.equal("ERR_SVC_TENANT_UNSCOPED");
    expect(await codeOf(options, { caller: {} }, guard)).to.equal("ERR_SVC_TENANT_REQUIRED");
    expect(await codeOf(options, { caller: {} }, requestedTenant())).to.equal("ERR_SVC_TENANT_NOT_NAMED");
    const faulty = { ...options, callerOf: (() => 7) as unknown as () => undefined };
    const noting: Middleware = (_req, _res, next) => next();
    expect(await codeOfFault(faulty)).to.equal("ERR_SVC_TENANCY_OPTION");
    // An unhandled rejection of the returned promise would end the process.
    const late = (): never => Promise.reject(new Error("too late")) as never;
    expect(await codeOfFault({ ...options, callerOf: late })).to.equal("ERR_SVC_TENANCY_OPTION");
    const failing = (): never => {
      throw Object.assign(new Error("the store is down"), { status: 404, code: "ENOENT" });
    };
    expect(await codeOfFault({ ...options, callerOf: failing })).to.equal("ERR_SVC_TENANCY_OPTION");
    const subdomain = { sources: ["subdomain"], baseDomain: "example.com" } as const;
    expect(await codeOfFault({ ...subdomain, hostOf: late })).to.equal("ERR_SVC_TENANCY_OPTION");
    expect(await codeOf(options, { caller: {} }, noting)).to.equal(undefined);
  });
});

/** Wraps a guard and passes its error to `note` as well. */
function guardNoting(guard: Middleware, note: (error: unknown) => void): Middleware {
  return (req, res, next) =>
    guard(req, res, (error) => {
      if (error !== undefined) note(error);
      next(error);
    });
}

async function codeOfFault(options: TenancyOptions): Promise<unknown> {
  let code: unknown;
  const before = tenancy({ sources: ["path"], auth: false });
  const middleware = tenancy(options);
  await using server = await listen((req: IncomingMessage, res: ServerResponse) => {
    before(req, res, () => {
      middleware(req, res, (error) => {
        code = [(error as { code?: unknown }).code, tenantOf(req), requestedTenantOf(req)];
        res.end();
      });
    });
  });
  await ask(server.port, { target: "/t/left-over/" });
  expect(code).to.eql(["ERR_SVC_TENANCY_OPTION", undefined, undefined]);
  return (code as unknown[])[0];
}
