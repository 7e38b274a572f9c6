import {
  contextOf,
  currentContext,
  inSpan,
  type Middleware,
  type ReadinessCheck,
  type SpanHook,
} from "@svc/context";
import { createService, type Service } from "@svc/express";
import { optionalAuth, requireAuth, requireRoles, requireScopes } from "@svc/jwt-auth";
import { unprocessable } from "@svc/problem";
import { propagationHeaders } from "@svc/request-id";
import { memoryStore, rateLimit, type RateLimitOptions } from "@svc/rate-limit";
import { requestedTenant, requireTenant, tenantOf } from "@svc/tenancy";
import { requireContentType } from "@svc/json-body";
import { freePort } from "@svc/dev-services";
import type { Algorithm, ConformanceOptions, Probes } from "@svc/conformance";
import express from "express";
import type { IncomingHttpHeaders } from "node:http";
import { serveKeys } from "../../src/key-server.ts";
import { type Base, type BaseName, bases } from "./bases.ts";
import { breakServer, type Layer } from "./mutating-layer.ts";
import { relayUpstream } from "./upstream-relay.ts";
import { type ExportChange, relayExports } from "./export-relay.ts";
import { type SessionDifferences, type Sessions, startSessions } from "./session-service.ts";

/** The changes that make one service break a rule. */
export interface Differences extends Layer {
  /** Runs after authentication and tenancy, before the routes. */
  readonly middleware?: Middleware | undefined;
  /** Changes a line of the log; undefined removes it. */
  readonly log?:
    ((line: Record<string, unknown>) => Record<string, unknown> | string | undefined) | undefined;
  /** Replacements in the TOML. */
  readonly toml?: readonly (readonly [string, string])[] | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** Changes the headers of the outbound call. */
  readonly outbound?: ((headers: Record<string, string>) => Record<string, string>) | undefined;
  /** Changes the headers of a request between the gateway and the service behind it. */
  readonly behind?: ((headers: IncomingHttpHeaders) => IncomingHttpHeaders) | undefined;
  /** Changes the checks of the dependencies. */
  readonly check?: ((check: ReadinessCheck) => ReadinessCheck) | undefined;
  /** Changes the server itself, below HTTP. */
  readonly server?: ((server: Service["server"]) => void) | undefined;
  /** Changes the token issuer and the store of revocations. */
  readonly sessions?: SessionDifferences | undefined;
  /** Changes the options of the rate limit. */
  readonly limit?: RateLimitOptions | undefined;
  /** Changes the exports of spans. */
  readonly exports?: ExportChange | undefined;
  /** The changes of the second replica. Default: the same as those of the first. */
  readonly replica?: Differences | undefined;
  /** Returns a layer for a service that fetches the key set from this URL. */
  readonly keySet?: ((url: string) => Layer) | undefined;
}

/** A running service, with the options that the kit needs to check it. */
export interface ServiceUnderTest extends AsyncDisposable {
  readonly options: ConformanceOptions;
}

const dependencies = [
  { name: "orders", critical: true, fault: "fails" },
  { name: "ledger", critical: true, fault: "throws" },
  { name: "search", critical: false, fault: "fails" },
  { name: "mail", critical: false, fault: "throws" },
  { name: "maps", critical: false, fault: "hangs" },
  { name: "tiles", critical: false, fault: "hangs" },
  { name: "weather", critical: false, fault: "hangs" },
  { name: "traffic", critical: false, fault: "hangs" },
  { name: "fonts", critical: false, fault: "hangs" },
] as const;

export const scopes: readonly string[] = ["orders:read", "orders:write"];
const roles: readonly string[] = ["admin", "auditor"];

/**
 * Generates the kit's keys before a service starts. A service fetches the key set at startup, again within a second, and
 * then only after a minute; generating RSA keys may take longer than a second.
 */
export async function makeServedKeys(algorithm: Algorithm): Promise<void> {
  const served = await serveKeys(`127.0.0.1:${await freePort()}`, algorithm);
  await served.stop();
}

export async function startUnderTest(
  name: BaseName,
  differences: Differences = {},
): Promise<ServiceUnderTest> {
  const base: Base = bases[name];
  // One growing string, because the kit reads the whole log after almost every request.
  const log = { text: "" };
  const keyPort = base.serveKeys === true ? await freePort() : undefined;
  const otlpPort = base.serveOtlp === true ? await freePort() : undefined;
  const upstreamPort = base.serveUpstream === true ? await freePort() : undefined;
  const behind = differences.behind && (await relayUpstream(upstreamPort, differences.behind));
  const relay = differences.exports && (await relayExports(otlpPort, differences.exports));
  const sessions = base.sessions && (await startSessions(base.sessions, differences.sessions));
  const keyUrl = `http://127.0.0.1:${keyPort}/keys`;
  // The service must not show the user-info or the query of its endpoint (TRACE-24).
  const otlpUrl =
    otlpPort === undefined ? undefined : `http://kit:secret@127.0.0.1:${relay?.port ?? otlpPort}?key=secret`;
  const upstreamUrl = `http://127.0.0.1:${behind?.port ?? upstreamPort}`;
  const parts = { base, differences, log, keyUrl, otlpUrl, upstreamUrl, sessions };
  const services = [await startOne(parts, 0)];
  if (base.sessions?.replica === true || base.silentReplica === true) services.push(await startOne(parts, 1));
  const [url = "", replica] = services.map(({ address }) => `http://127.0.0.1:${address?.port ?? 0}`);
  return {
    options: {
      ...optionsFor(base, () => log.text, { keyPort, otlpPort, upstreamPort }),
      url,
      replica,
      probes: { ...probesFor(base), ...sessions?.probes },
    },
    async [Symbol.asyncDispose]() {
      for (const service of services) {
        service.server.closeAllConnections();
        await service.stop();
      }
      await sessions?.[Symbol.asyncDispose]();
      await relay?.[Symbol.asyncDispose]();
      await behind?.[Symbol.asyncDispose]();
    },
  };
}

interface Parts {
  readonly base: Base;
  readonly differences: Differences;
  /** The log of the first replica. */
  readonly log: { text: string };
  readonly keyUrl: string;
  readonly otlpUrl: string | undefined;
  readonly upstreamUrl: string;
  readonly sessions: Sessions | undefined;
}

async function startOne(
  { base, differences: given, log, keyUrl, otlpUrl, upstreamUrl, sessions }: Parts,
  replica: number,
): Promise<Service> {
  const isSecond = replica > 0;
  const differences = (isSecond ? given.replica : undefined) ?? given;
  const exportsTo = isSecond && base.silentReplica === true ? undefined : otlpUrl;
  const broken = new Set<string>();
  let toml = base.toml
    ?.replace("{jwks}", keyUrl)
    .replace("{keys}", sessions?.keysFile ?? "")
    .replace("{upstream}", upstreamUrl);
  for (const [from, to] of differences.toml ?? []) {
    if (toml?.includes(from) !== true) throw new Error(`the file does not contain ${from}`);
    toml = toml.replace(from, to);
  }
  const service = await createService({
    ...(base.profile === "reduced" ? { profile: "reduced" } : { config: { toml: toml ?? "" } }),
    env: {
      ...(exportsTo === undefined ? {} : { SVC_TELEMETRY_ENDPOINT: exportsTo }),
      ...base.env,
      ...differences.env,
    },
    signals: false,
    logDestination: {
      write(text) {
        if (!isSecond) log.text += changed(text, differences);
      },
    },
    checks: dependencies.map((each) => {
      const check = checkOf(each.name, each.critical, each.fault, broken);
      return differences.check?.(check) ?? check;
    }),
    ...(differences.middleware === undefined ? {} : { middleware: [differences.middleware] }),
    ...(sessions === undefined ? {} : { auth: sessions.auth(replica) }),
    routes(app, made) {
      routes(app, base, broken, differences, spanOf(made));
      if (base.limited === true) limitedRoute(app, made, broken, differences);
      sessions?.routes(app, made);
    },
  });
  breakServer(service.server, differences);
  differences.server?.(service.server);
  if (differences.keySet !== undefined) breakServer(service.server, differences.keySet(keyUrl));
  await service.start();
  return service;
}

function changed(text: string, { log }: Differences): string {
  if (log === undefined) return text;
  const line = log(JSON.parse(text) as Record<string, unknown>);
  if (line === undefined) return "";
  return typeof line === "string" ? line : `${JSON.stringify(line)}\n`;
}

function checkOf(
  name: string,
  critical: boolean,
  fault: string,
  broken: ReadonlySet<string>,
): ReadinessCheck {
  return {
    name,
    critical,
    async check(signal?: unknown) {
      void signal;
      if (!broken.has(name)) return { healthy: true, detail: "fine" };
      if (fault === "throws") throw new TypeError("postgres://user:password@db is gone");
      if (fault === "hangs") await new Promise((resolve) => setTimeout(resolve, 3000).unref());
      return { healthy: false, detail: "gone" };
    },
  };
}

/** Returns the hook for spans of outbound calls, if the service exports spans. */
function spanOf({ telemetry }: Service): SpanHook | undefined {
  return telemetry?.exporting === true ? telemetry.span : undefined;
}

function routes(
  app: express.Express,
  base: Base,
  broken: Set<string>,
  differences: Differences,
  span: SpanHook | undefined,
): void {
  const withAuth = base.features.includes("auth");
  const guard = (each: Middleware): Middleware => (withAuth ? each : optionalAuth());
  app.get("/open", (_req, res) => void res.json({ open: true }));
  app.get("/mine", guard(requireAuth()), (_req, res) => void res.json({ mine: true }));
  app.get("/orders", guard(requireScopes(...scopes)), (_req, res) => void res.json({ orders: [] }));
  app.get("/admin", guard(requireRoles(...roles)), (_req, res) => void res.json({ admin: true }));
  app.get("/mixed", optionalAuth(), (req, res) => {
    res.json({ caller: contextOf(req)?.principal?.subject ?? null });
  });
  if (base.tenancy !== undefined) {
    app.get(["/tenant", "/t/:slug/tenant"], requireTenant(), (req, res) => {
      res.json({ tenant: tenantOf(req) });
    });
    app.get("/asked", requestedTenant(), (_req, res) => void res.json({}));
  }
  app.get("/failing", () => {
    throw new Error("the password of the vault is 1234");
  });
  app.post(
    "/json",
    requireContentType("application/json"),
    (req, res) => void res.json({ got: typeof req.body }),
  );
  app.post("/invalid", (req, _res) => {
    const { name } = req.body as { name?: unknown };
    throw unprocessable([{ type: "too_long", loc: ["body", "name"], msg: "is not a name", input: name }]);
  });
  app.get("/items/:id", (_req, res) => void res.json({}));
  app.get("/page", (_req, res) => void res.type("html").send("<!doctype html><title>page</title>"));
  app.get("/outbound", async (req, res) => {
    const url = new URL(req.query["to"] as string);
    const attributes = { "jfast.upstream": "echo", "server.address": url.hostname };
    const status = await inSpan(span, "GET echo", "client", attributes, async ({ trace, set }) => {
      const headers = propagationHeaders(currentContext(), trace) as Record<string, string>;
      const answer = await fetch(url, { headers: differences.outbound?.(headers) ?? headers });
      set({ "http.response.status_code": answer.status });
      return answer.status;
    });
    res.json({ status });
  });
  app.get("/slow", (_req, res) => {
    setTimeout(() => {
      if (!res.headersSent) res.json({ late: true });
    }, 4000).unref();
  });
  app.get("/streaming", (_req, res) => {
    res.type("text").write("first ");
    setTimeout(() => res.end("last"), 2600);
  });
  app.post("/break/:name", (req, res) => {
    broken.add(req.params.name);
    res.json({});
  });
  app.post("/restore/:name", (req, res) => {
    broken.delete(req.params.name);
    res.json({});
  });
}

/** Adds a route with a rate limit whose store fails while `limits` is broken. */
function limitedRoute(
  app: express.Express,
  { log }: Service,
  broken: ReadonlySet<string>,
  { limit }: Differences,
): void {
  const memory = memoryStore();
  const store: RateLimitOptions["store"] = {
    take(...given) {
      if (broken.has("limits")) throw new Error("the store is down");
      return memory.take(...given);
    },
  };
  const limited = rateLimit({ limit: 10, windowSeconds: 10, store, logger: log, ...limit });
  app.get("/limited", limited, (_req, res) => void res.json({ admitted: true }));
}

function probesFor(base: Base): Probes {
  const hasAuth = base.features.includes("auth");
  const callers: Probes = {
    open: "/open",
    ...(hasAuth
      ? {
          protected: "/mine",
          scoped: { request: "/orders", scopes },
          role: { request: "/admin", roles },
          mixed: "/mixed",
        }
      : {}),
  };
  if (base.sessions !== undefined) return callers;
  return {
    ...callers,
    ...(base.tenancy === undefined ? {} : { tenant: { request: "/tenant" }, requestedTenant: "/asked" }),
    failing: { request: "/failing", message: "the password of the vault is 1234" },
    json: "POST /json",
    invalid: { request: { path: "/invalid", body: { name: "x" } }, longMember: "name" },
    templated: { request: "/items/{random}", template: "/items/:id" },
    html: "/page",
    outbound: "/outbound?to={url}",
    ...(base.serveUpstream === true && { gateway: "/behind" }),
    ...(base.limited === true && {
      limited: { request: "/limited", limit: 10, windowSeconds: 10 },
      limitStore: { break: "POST /break/limits", restore: "POST /restore/limits" },
    }),
    ...(base.profile === "reduced" ? {} : { slow: "/slow", streaming: "/streaming" }),
    dependencies: dependencies.map(({ name, critical, fault }) => ({
      check: name,
      critical,
      fault,
      break: `POST /break/${name}`,
      restore: `POST /restore/${name}`,
    })),
  };
}

function optionsFor(
  base: Base,
  log: () => string,
  {
    keyPort,
    otlpPort,
    upstreamPort,
  }: Readonly<Record<"keyPort" | "otlpPort" | "upstreamPort", number | undefined>>,
): Omit<ConformanceOptions, "url" | "probes"> {
  return {
    profile: base.profile,
    features: base.features,
    keys: base.keys,
    tenancy: base.tenancy,
    limits:
      base.profile === "reduced"
        ? {}
        : { maxBodyBytes: 65_536, requestTimeoutSeconds: 2, readinessTimeoutSeconds: 0.5 },
    log,
    serveKeys: keyPort === undefined ? undefined : `127.0.0.1:${keyPort}`,
    serveOtlp: otlpPort === undefined ? undefined : `127.0.0.1:${otlpPort}`,
    serveUpstream: upstreamPort === undefined ? undefined : `127.0.0.1:${upstreamPort}`,
    requestSeconds: 5,
    keySetPatienceSeconds: 3,
  };
}
