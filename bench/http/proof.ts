import type { Registry } from "prom-client";
import { expectEqual } from "../harness/expect-equal.ts";
import type { Injector } from "../harness/injector.ts";
import { type Access, proveAccess } from "./access-proof.ts";
import type { LogTap } from "./log-tap.ts";
import { routePath, urlOf } from "./route.ts";

/** The features that a case claims and therefore has to prove. */
export interface Claims {
  readonly requestId?: boolean;
  readonly registry?: Registry;
  readonly log?: {
    readonly tap: LogTap;
    readonly logger: { level: string };
    readonly level: "info" | "warn";
  };
  readonly problems?: boolean;
  readonly securityHeaders?: boolean;
  readonly etag?: boolean;
  readonly access?: Access;
  /** Whether the route is described, so that an id that is not a number is rejected. */
  readonly described?: boolean;
  /** Counts the spans, of which each request has one. */
  readonly spans?: () => { readonly exported: number };
  /** Headers that every request of the proof carries. */
  readonly headers?: Readonly<Record<string, string>>;
}

const traceId = "4bf92f3577b34da6a3ce929d0e0e4736";
const traceparent = `00-${traceId}-00f067aa0ba902b7-01`;

/** Returns a proof of the claims, which rejects with an Error that names the false claim. */
export function proofOf(claims: Claims): (injector: Injector) => Promise<void> {
  return async (anyone) => {
    const injector = withHeaders(anyone, claims.headers);
    if (claims.requestId === true) await proveRequestId(injector);
    if (claims.registry !== undefined) await proveMetrics(injector, claims.registry);
    if (claims.log !== undefined) await proveLog(injector, claims.log);
    if (claims.spans !== undefined) await proveSpans(injector, claims.spans);
    if (claims.problems === true) await proveProblems(injector, claims.requestId === true);
    if (claims.described === true) {
      expectEqual("the status of an id of letters", (await injector.send("GET", "/api/items/x")).status, 422);
    }
    if (claims.access !== undefined) await proveAccess(anyone, claims.access);
    const { headers } = await injector.send("GET", urlOf(0));
    expectEqual("an ETag", headers["etag"] !== undefined, claims.etag ?? true);
    const secure = claims.securityHeaders === true ? "nosniff" : undefined;
    expectEqual("X-Content-Type-Options", headers["x-content-type-options"], secure);
  };
}

function withHeaders(injector: Injector, headers: Claims["headers"]): Injector {
  return { ...injector, send: (method, url, given) => injector.send(method, url, { ...headers, ...given }) };
}

async function proveRequestId(injector: Injector): Promise<void> {
  const minted = await injector.send("GET", urlOf(0), { traceparent });
  expectEqual("a new X-Request-ID", /^[\x21-\x7e]{1,128}$/.test(minted.headers["x-request-id"] ?? ""), true);
  const kept = await injector.send("GET", urlOf(0), { "X-Request-ID": "the-callers-own" });
  expectEqual("the caller's X-Request-ID", kept.headers["x-request-id"], "the-callers-own");
}

async function proveMetrics(injector: Injector, registry: Registry): Promise<void> {
  const before = await counted(registry);
  for (let i = 0; i < 3; i++) await injector.send("GET", urlOf(i));
  expectEqual("the requests counted", (await counted(registry)) - before, 3);
}

async function counted(registry: Registry): Promise<number> {
  const metric = await registry.getSingleMetric("http_requests_total")?.get();
  const own = metric?.values.filter(({ labels }) => labels["endpoint"] === routePath) ?? [];
  return own.reduce((sum, { value }) => sum + value, 0);
}

async function proveLog(
  injector: Injector,
  { tap, logger, level }: NonNullable<Claims["log"]>,
): Promise<void> {
  const send = (): Promise<unknown> =>
    injector.send("GET", urlOf(0), { traceparent, "X-Request-ID": "a-logged-one" });
  logger.level = "warn";
  expectEqual("the lines at WARN", (await tap.during(send)).length, 0);
  logger.level = "info";
  const lines = await tap.during(send);
  logger.level = level;
  expectEqual("the lines at INFO", lines.length, 1);
  expectEqual("the status on the line", lines[0]?.["http_status"], 200);
}

async function proveSpans(injector: Injector, counts: NonNullable<Claims["spans"]>): Promise<void> {
  const before = counts().exported;
  for (let i = 0; i < 3; i++) await injector.send("GET", urlOf(i), { traceparent });
  expectEqual("the spans", counts().exported - before, 3);
}

async function proveProblems(injector: Injector, withId: boolean): Promise<void> {
  const missing = await injector.send("GET", "/no/such/path");
  expectEqual("the status of a path without a route", missing.status, 404);
  expectEqual("the type of a problem", missing.headers["content-type"], "application/problem+json");
  const problem = JSON.parse(missing.body) as Record<string, unknown>;
  if (withId) expectEqual("the id in a problem", problem["request_id"], missing.headers["x-request-id"]);
}
