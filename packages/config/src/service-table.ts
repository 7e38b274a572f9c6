import { isIP } from "node:net";
import { defineOptions, fault, kinds as k, type ResolvedOptions } from "@svc/options";

const levels = ["TRACE", "DEBUG", "INFO", "WARN", "WARNING", "ERROR", "FATAL", "CRITICAL", "SILENT"];

const level: k.Kind<string> = {
  expects: `one of ${levels.join(", ")}, in any case`,
  accepts: (value): value is string => typeof value === "string" && levels.includes(value.toUpperCase()),
  schema: { anyOf: [{ enum: levels }, { type: "string" }] },
};

const words: k.Kind<readonly string[]> = k.listOf(
  k.string({ pattern: /^[\w!#$%&'*+.^`|~-]+$/, expects: "an HTTP method or header name" }),
);

// Rejects zero, which means "immediately" to a timer and "never" to Node's servers.
function seconds(highest: number): k.Kind<number> {
  return k.number({ min: 0.01, max: highest });
}

const origin: k.Kind<string> = {
  schema: { type: "string" },
  expects: 'an origin such as "https://app.example.com" (no path), or "*"',
  accepts(value): value is string {
    if (value === "*") return true;
    return (
      typeof value === "string" &&
      /^https?:/.test(value) &&
      URL.canParse(value) &&
      new URL(value).origin === value
    );
  },
};

const proxy: k.Kind<string> = {
  schema: { type: "string" },
  expects: 'an IP address, a range such as "10.0.0.0/8", "loopback", "linklocal" or "uniquelocal"',
  accepts(value): value is string {
    if (typeof value !== "string") return false;
    if (["loopback", "linklocal", "uniquelocal"].includes(value)) return true;
    const [address = "", bits, ...rest] = value.split("/");
    const version = isIP(address);
    // Express refuses an IPv6 address that ends like `::192.0.2.1`, and the range /0, which would trust every peer.
    if (version === 0 || rest.length > 0 || /^::\d+\./.test(address)) return false;
    if (bits === undefined) return true;
    return /^\d{1,3}$/.test(bits) && Number(bits) >= 1 && Number(bits) <= (version === 4 ? 32 : 128);
  },
};

/** A path of routes, which also contains all paths below it. */
const path: k.Kind<string> = k.string({
  pattern: /^(?:\/(?!\.{1,2}(?:\/|$))[\w~!$&'()+,;=@%.-]+)+$/,
  expects: 'a path such as "/webhooks" without a slash at its end, a parameter or a wildcard',
});

/** `[service.cors]`: which pages from other origins may call the service (EDGE-4). */
const corsTable = defineOptions("[service.cors]", {
  /** Origins such as `https://app.example.com`, or `*`. Default: none, which switches CORS off. */
  origins: { key: "origins", kind: k.withDefault(k.listOf(origin), []) },
  /** Whether browsers send cookies and other credentials; refused together with `*` (EDGE-5). Default: false. */
  credentials: { key: "credentials", kind: k.withDefault(k.boolean(), false) },
  /** Methods that a page may use. Default: GET, HEAD, PUT, PATCH, POST, DELETE. */
  methods: { key: "methods", kind: k.withDefault(words, ["GET", "HEAD", "PUT", "PATCH", "POST", "DELETE"]) },
  /** Request headers that a page may send. Default: those requested by the browser. */
  allowedHeaders: { key: "allowed_headers", kind: k.optional(words) },
  /** Response headers that a page may read. Default: X-Request-ID. */
  exposedHeaders: { key: "exposed_headers", kind: k.withDefault(words, ["X-Request-ID"]) },
  /** How long a browser may cache the response to a preflight request, in seconds. Default: 600. */
  maxAgeSeconds: { key: "max_age", kind: k.withDefault(k.integer({ min: 0, max: 86_400 }), 600) },
}).withCheck(({ origins, credentials }, name) => {
  if (!credentials || !origins.includes("*")) return [];
  const message = `must not contain "*" while ${name("credentials")} is true, because then any site could send requests with the cookies of its visitors; list the origins`;
  return [fault("origins", message)];
});

/** The settings in `[service.cors]`. */
export type CorsSettings = ResolvedOptions<(typeof corsTable)["keys"]>;

/** The keys of `[service]` and `[service.cors]`, with their defaults (CFG-3, CFG-18). */
export const serviceTable = defineOptions("[service]", {
  /** Name of the service, as in logs and metrics; variable `SVC_APP_NAME` (ENV-1). Required. */
  name: {
    key: "name",
    kind: k.string({ pattern: /^\P{C}{1,100}$/u, expects: "1 to 100 characters without control characters" }),
    env: "SVC_APP_NAME",
  },
  /** Version of the service. Default: 0.1.0. */
  version: {
    key: "version",
    kind: k.withDefault(
      k.string({ pattern: /^[!-~]{1,100}$/, expects: "1 to 100 visible characters" }),
      "0.1.0",
    ),
  },
  /** The environment; `SVC_ENV` wins (ENV-2). Default: local. */
  env: {
    key: "env",
    kind: k.withDefault(k.environmentName, "local"),
    env: "SVC_ENV",
    wins: "env",
  },
  /** Address to listen on. Default: 127.0.0.1 in local, 0.0.0.0 elsewhere. */
  host: {
    key: "host",
    kind: k.string({ pattern: /^[\w.:-]{1,253}$/, expects: "an address or host name to listen on" }),
    defaultIn: (environment) => (environment === "local" ? "127.0.0.1" : "0.0.0.0"),
  },
  /** HTTP port, the first of the service's ten; 0 selects any free port; `SVC_PORT` wins (ENV-3). Default: 8000. */
  port: {
    key: "port",
    kind: k.withDefault(k.integer({ min: 0, max: 65_535 }), 8000),
    env: "SVC_PORT",
    wins: "env",
  },
  /** Whether clients see internal error details; `SVC_DEBUG` wins (ENV-4). Default: false. */
  debug: { key: "debug", kind: k.withDefault(k.boolean(), false), env: "SVC_DEBUG", wins: "env" },
  /** How long a stopping service still accepts requests, in seconds. Default: 0 in local, 5 elsewhere. */
  drainDelaySeconds: {
    key: "drain_delay",
    kind: k.number({ min: 0, max: 3600 }),
    defaultIn: (environment) => (environment === "local" ? 0 : 5),
  },
  /** How long the shutdown may take, in seconds. Default: 25. */
  shutdownTimeoutSeconds: { key: "shutdown_timeout", kind: k.withDefault(seconds(3600), 25) },
  /** How long a request may take until its response begins, in seconds. Default: 30. */
  requestTimeoutSeconds: { key: "request_timeout", kind: k.withDefault(seconds(3600), 30) },
  /** How long a client may take to send a request's headers, in seconds. Default: 10. */
  headersTimeoutSeconds: { key: "headers_timeout", kind: k.withDefault(seconds(600), 10) },
  /** How long a client may take to send a whole request, in seconds. Default: 60. */
  receiveTimeoutSeconds: { key: "receive_timeout", kind: k.withDefault(seconds(3600), 60) },
  /** How long an idle connection stays open, in seconds; must exceed the load balancer's idle timeout. Default: 65. */
  keepAliveTimeoutSeconds: { key: "keep_alive_timeout", kind: k.withDefault(seconds(3600), 65) },
  /** How long a client may stop reading its response, in seconds. Default: 60. */
  sendTimeoutSeconds: { key: "send_timeout", kind: k.withDefault(seconds(3600), 60) },
  /** Maximum number of open connections. Default: no limit. */
  maxConnections: { key: "max_connections", kind: k.optional(k.integer({ min: 1 })) },
  /** Maximum size of a request body, in bytes. Default: 2,097,152. */
  maxBodyBytes: {
    key: "max_body_bytes",
    kind: k.withDefault(k.integer({ min: 1, max: 2 ** 30 }), 2 * 1024 * 1024),
  },
  /** Paths, and all paths below them, where `req.body` is a `Buffer` with the bytes as sent, as for webhooks. Default: none. */
  rawBodyPaths: { key: "raw_body_paths", kind: k.withDefault(k.listOf(path), []) },
  /** Paths, and all paths below them, whose bodies are not read before the routes, as for a proxy. Default: none. */
  streamBodyPaths: { key: "stream_body_paths", kind: k.withDefault(k.listOf(path), []) },
  /** Whether responses have an ETag. Default: true. */
  etag: { key: "etag", kind: k.withDefault(k.boolean(), true) },
  /** Whether Express is optimised; this does not change responses. Default: true. */
  tune: { key: "tune", kind: k.withDefault(k.boolean(), true) },
  /** How long one readiness check may take, in seconds. Default: 2. */
  readinessTimeoutSeconds: { key: "readiness_timeout", kind: k.withDefault(seconds(60), 2) },
  /**
   * Addresses or ranges that may set X-Forwarded-*; also `loopback`, `linklocal`, `uniquelocal` (EDGE-1). Default:
   * none.
   */
  trustedProxies: { key: "trusted_proxies", kind: k.withDefault(k.listOf(proxy), []) },
  /** Accepted host names, without port; `*.example.com` accepts every subdomain (EDGE-3). Default: any. */
  trustedHosts: {
    key: "trusted_hosts",
    kind: k.withDefault(
      k.listOf(
        k.string({
          pattern: /^((\*\.)?[\w.-]{1,253}|\[[\da-f:.]+\])$/i,
          expects: "a host name without a port",
        }),
      ),
      [],
    ),
  },
  /** Whether responses have security headers. Default: true. */
  securityHeaders: { key: "security_headers", kind: k.withDefault(k.boolean(), true) },
  /** Which pages from other origins may call the service (EDGE-4). */
  cors: { key: "cors", table: corsTable },
}).withCheck(function* (options, name) {
  if (options.headersTimeoutSeconds > options.receiveTimeoutSeconds)
    yield fault("headersTimeoutSeconds", `must not be longer than ${name("receiveTimeoutSeconds")}`);
  if (options.drainDelaySeconds >= options.shutdownTimeoutSeconds) {
    const message = `must be shorter than ${name("shutdownTimeoutSeconds")}, the time limit of the whole shutdown`;
    yield fault("drainDelaySeconds", message);
  }
  const raw = new Set(options.rawBodyPaths.map((each) => each.toLowerCase()));
  for (const each of options.streamBodyPaths.filter((path) => raw.has(path.toLowerCase())))
    yield fault("streamBodyPaths", `contains ${each}, which is also in ${name("rawBodyPaths")}`);
});

/** The settings in `[service]`. */
export type ServiceSettings = ResolvedOptions<(typeof serviceTable)["keys"]>;

/** The keys of `[logging]`, with their defaults (CFG-18). */
export const loggingTable = defineOptions("[logging]", {
  /** Lines below this level are not written; names are accepted in upper or lower case. Default: INFO. */
  level: { key: "level", kind: k.withDefault(level, "INFO") },
  /** Whether each line is a JSON object; variable `SVC_LOG_JSON_LOGS` (ENV-5). Default: true. */
  json: { key: "json_logs", kind: k.withDefault(k.boolean(), true), env: "SVC_LOG_JSON_LOGS" },
});

/** The settings in `[logging]`. */
export type LoggingSettings = ResolvedOptions<(typeof loggingTable)["keys"]>;
