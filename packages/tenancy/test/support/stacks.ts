import type { RequestListener } from "node:http";
import { type Middleware, openContext, type Principal } from "@svc/context";
import { problemHandler, sendProblem } from "@svc/problem";
import { currentTenant, requestedTenantOf, tenantOf } from "@svc/tenancy";
import { expressMajors } from "@svc/test-support";

/** Runs a chain of middleware and a handler on each kind of server; errors become problems. */
export const stacks: Readonly<
  Record<string, (middleware: readonly Middleware[], handler: RequestListener) => RequestListener>
> = {
  "bare http": (middleware, handler) => (req, res) => {
    const step = (index: number, error?: unknown): void => {
      const each = middleware[index];
      if (error !== undefined) problemHandler()(error, req, res, () => undefined);
      else if (each === undefined) handler(req, res);
      else each(req, res, (err) => step(index + 1, err));
    };
    step(0);
  },
  ...Object.fromEntries(
    Object.entries(expressMajors).map(([name, express]) => [
      name,
      (middleware: readonly Middleware[], handler: RequestListener): RequestListener => {
        const app = express();
        for (const each of middleware) app.use(each);
        app.use(handler);
        app.use(problemHandler());
        return app as unknown as RequestListener;
      },
    ]),
  ),
};

/** Replaces a verifier: reads the verified caller from `Authorization: Test <JSON>`, and rejects no request. */
export const verified: Middleware = (req, _res, next) => {
  const given = /^Test (.*)$/.exec(req.headers.authorization ?? "")?.[1];
  if (given !== undefined && given !== "expired") {
    const { sub = "ann", tenant } = JSON.parse(given) as { sub?: string; tenant?: string };
    openContext(req).principal = principal(sub, tenant);
  }
  next();
};

/** Builds a principal as a verifier does. */
export function principal(subject: string, tenant?: string): Principal {
  return {
    subject,
    scopes: [],
    roles: [],
    tenant,
    tokenId: undefined,
    family: undefined,
    issuer: undefined,
    expiresAt: undefined,
    claims: {},
  };
}

/** The tenant values that a handler can read. */
export interface Seen {
  readonly tenant?: string;
  readonly current?: string;
  readonly requested?: string;
  readonly claimed?: string;
}

/** Responds with the tenant values, or, for a URL with `strict`, with the error of `currentTenant()`. */
export const report: RequestListener = (req, res) => {
  let current: string | undefined;
  try {
    current = currentTenant();
  } catch (error) {
    if (req.url?.includes("strict") === true) {
      sendProblem(req, res, error as Parameters<typeof sendProblem>[2]);
      return;
    }
  }
  res.setHeader("Content-Type", "application/json");
  res.end(
    JSON.stringify({
      tenant: tenantOf(req),
      current,
      requested: requestedTenantOf(req),
      claimed: openContext(req).tenantClaimed,
    }),
  );
};
