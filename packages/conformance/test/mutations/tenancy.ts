import { contextOf } from "@svc/context";
import { bearerOf, openToken } from "../support/token-repair.ts";
import type { IncomingMessage } from "node:http";
import type { Mutation } from "./mutation.ts";

/** Returns the tenant claim of the token, without verifying the token. */
function claimed(req: IncomingMessage): unknown {
  const raw = bearerOf(req);
  return raw === undefined ? undefined : openToken(raw)?.claims["tenant_id"];
}

function subdomain(req: IncomingMessage): string | undefined {
  return /^([a-z0-9-]+)\.svc\.example(?::\d+)?$/.exec(req.headers.host ?? "")?.[1];
}

/** Gives a request a tenant that a sound service would refuse. */
function granting(tenantOf: (req: IncomingMessage) => string | undefined): Mutation["differences"] {
  return {
    middleware(req, _res, next) {
      const context = contextOf(req);
      const tenant = tenantOf(req);
      if (context !== undefined && tenant !== undefined) context.tenantId = tenant;
      next();
    },
  };
}

/** Changes the responses for which `fits` returns true. */
function refusal(
  fits: (answer: { status: number; path: string }, req: IncomingMessage) => boolean,
  change: Record<string, unknown>,
): Mutation["differences"] {
  return {
    answer(answer, req) {
      if (!fits(answer, req)) return;
      answer.status = Number(change["status"] ?? answer.status);
      answer.setJson({ ...answer.json(), ...change });
    },
  };
}

const onTenant = ({ path }: { path: string }): boolean => path === "/tenant" || path.endsWith("/tenant");

export const tenancyMutations = (): readonly Mutation[] => [
  {
    rule: "TEN-1",
    what: "X-Tenant-ID is a configured source but is ignored",
    base: "reduced",
    differences: refusal(({ status }, req) => status === 200 && req.headers["x-tenant-id"] === "acme", {
      status: 404,
      title: "Not Found",
    }),
  },
  {
    rule: "TEN-3",
    what: "a request without a tenant reaches the routes",
    base: "required",
    differences: {
      answer(answer, req) {
        if (answer.status !== 403 || answer.path !== "/mine" || subdomain(req) !== undefined) return;
        if (bearerOf(req) === undefined) return;
        answer.status = 200;
        answer.setJson({});
      },
    },
  },
  {
    rule: "TEN-4",
    what: "the subdomain outranks the token",
    base: "swift",
    differences: granting((req) =>
      claimed(req) === "acme" && subdomain(req) === "globex" ? "globex" : undefined,
    ),
  },
  {
    rule: "TEN-5",
    what: "X-Tenant-ID of an anonymous request is used as the tenant",
    base: "swift",
    differences: granting((req) => {
      const header = req.headers["x-tenant-id"];
      return bearerOf(req) === undefined && typeof header === "string" && header.length < 64
        ? header
        : undefined;
    }),
  },
  {
    rule: "TEN-6",
    what: "an anonymous request gets the subdomain's tenant",
    base: "swift",
    differences: granting((req) => (bearerOf(req) === undefined ? subdomain(req) : undefined)),
  },
  {
    rule: "TEN-6",
    what: "a request without a caller that names a tenant gets a 403",
    base: "reduced",
    differences: refusal(({ status }, req) => status === 401 && req.headers["x-tenant-id"] !== undefined, {
      status: 403,
      title: "Forbidden",
      detail: "authentication required",
    }),
  },
  {
    rule: "TEN-6",
    what: "a caller without a tenant gets the subdomain's tenant",
    base: "swift",
    differences: granting((req) =>
      bearerOf(req) !== undefined && claimed(req) === undefined ? subdomain(req) : undefined,
    ),
  },
  {
    rule: "TEN-7",
    what: "callers without a tenant are refused although they are trusted",
    base: "trusting",
    differences: {
      toml: [["trust_unscoped_principals = true", "trust_unscoped_principals = false"]],
    },
  },
  {
    rule: "TEN-8",
    what: "the first listed source wins",
    base: "required",
    differences: refusal(
      ({ status, path }, req) =>
        status === 403 && path === "/tenant" && claimed(req) === "acme" && subdomain(req) === "globex",
      { status: 200, tenant: "globex" },
    ),
  },
  {
    rule: "TEN-9",
    what: "the last source wins",
    base: "anonymous",
    differences: {
      answer(answer, req) {
        if (answer.status === 200 && req.headers["x-tenant-id"] === "globex")
          answer.setJson({ tenant: "globex" });
      },
    },
  },
  {
    rule: "TEN-10",
    what: "a caller without a tenant reaches the tenant route",
    base: "swift",
    differences: granting((req) =>
      bearerOf(req) !== undefined &&
      claimed(req) === undefined &&
      subdomain(req) === undefined &&
      req.headers["x-tenant-id"] === undefined &&
      req.url === "/tenant"
        ? ""
        : undefined,
    ),
  },
  {
    rule: "TEN-12",
    what: "a subdomain may begin with a dash",
    base: "swift",
    differences: {
      request(req) {
        if (req.headers.host?.startsWith("-") === true) req.headers.host = req.headers.host.slice(1);
      },
    },
  },
  {
    rule: "TEN-13",
    what: "the subdomain www is a tenant",
    base: "swift",
    differences: {
      request(req) {
        if (req.headers.host?.startsWith("www.") === true)
          req.headers.host = req.headers.host.replace("www", "wwww");
      },
    },
  },
  {
    rule: "TEN-14",
    what: "/tX/ names a tenant like the path prefix /t/",
    base: "swift",
    differences: {
      request(req) {
        req.url = req.url?.replace(/^\/t\w+\/globex/, "/t/globex");
      },
    },
  },
  {
    rule: "TEN-15",
    what: "the subject is not used as the tenant",
    base: "user",
    differences: { toml: [['sources = ["token", "user"]', 'sources = ["token"]']] },
  },
  {
    rule: "TEN-16",
    what: "a path that begins with an exempt path is exempt",
    base: "required",
    differences: refusal(({ status, path }) => status === 403 && path === "/healthy", {
      status: 404,
      title: "Not Found",
    }),
  },
  {
    rule: "TEN-17",
    what: "an anonymous request that names a tenant gets a 403",
    base: "required",
    differences: refusal(({ status, path }) => status === 401 && path.startsWith("/svc"), {
      status: 403,
      title: "Forbidden",
    }),
  },
  {
    rule: "TEN-18",
    what: "a request without a tenant gets a 400",
    base: "swift",
    differences: refusal(({ path }) => path === "/asked", { status: 400, title: "Bad Request" }),
  },
  {
    rule: "TEN-19",
    what: "the detail of the 403 is `wrong tenant`",
    base: "swift",
    differences: refusal((answer) => answer.status === 403 && onTenant(answer), { detail: "wrong tenant" }),
  },
  {
    rule: "TEN-20",
    what: "X-Tenant-ID is logged as tenant_id",
    base: "swift",
    differences: {
      log: ({ tenant_claimed: tenant, ...line }) =>
        tenant === undefined ? line : { ...line, tenant_id: tenant },
    },
  },
];
