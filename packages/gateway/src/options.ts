import type { Logger, SpanHook } from "@svc/context";
import { defineOptions, type Fault, kinds as k, type OptionsOf, type ResolvedOptions } from "@svc/options";
import { trustOf } from "./trusted-proxies.ts";

const seconds = k.number({ min: 0.001, max: 86_400 });

const origin: k.Kind<string> = {
  // A URL with a password must not appear in an error message.
  ...k.secret(k.string()),
  expects: "an origin such as http://127.0.0.1:8010, without path, query and user-info",
  accepts: (value): value is string => typeof value === "string" && k.isHttpOrigin(value),
};

/** Options of one route. */
export const routeOptions = defineOptions("gateway()", {
  /**
   * Beginning of the paths that the route handles, in whole segments: `/api` handles `/api` and `/api/x`, not `/apix`. The
   * route with the longest matching prefix handles a request. Required.
   */
  prefix: { key: "prefix", kind: k.string({ allowEmpty: true }) },
  /** The origins of the service, such as `http://127.0.0.1:8010`; requests alternate between them. Required. */
  targets: { key: "targets", kind: k.listOf(origin) },
  /** Whether to remove the prefix from the path that the target receives. Default: false. */
  stripPrefix: { key: "strip_prefix", kind: k.withDefault(k.boolean(), false) },
  /**
   * Whether the target receives the client's `Host` instead of its own: for services that compare it with `Origin`, or read
   * the tenant from it. Default: false.
   */
  preserveHost: { key: "preserve_host", kind: k.withDefault(k.boolean(), false) },
  /**
   * Time limit from the end of the request to the head of the response, in seconds; and for a pause in which the target
   * does not read the request body. Default: 30.
   */
  timeoutSeconds: { key: "timeout", kind: k.withDefault(seconds, 30) },
  /** Time limit for a connection to one target, in seconds. Default: 2. */
  connectTimeoutSeconds: { key: "connect_timeout", kind: k.withDefault(seconds, 2) },
  /** Maximum size of a request body in bytes; 0 means no limit. Default: 0. */
  maxBodyBytes: { key: "max_body_bytes", kind: k.withDefault(k.integer({ min: 0 }), 0) },
  /** Whether to reject requests without a verified caller with 401. Default: false. */
  requireAuth: { key: "require_auth", kind: k.withDefault(k.boolean(), false) },
  /** Whether the route passes on WebSockets. Default: true. */
  websocket: { key: "websocket", kind: k.withDefault(k.boolean(), true) },
  /** Whether the service is not ready while no target of the route answers. Default: false. */
  critical: { key: "critical", kind: k.withDefault(k.boolean(), false) },
}).withCheck(faultsOfRoute);

/** Options of one route of {@link GatewayOptions}. */
export type RouteOptions = OptionsOf<typeof routeOptions>;

/** The options of one route with the defaults filled in. */
export type ResolvedRoute = ResolvedOptions<(typeof routeOptions)["keys"]>;

function* faultsOfRoute({ prefix, targets }: Pick<ResolvedRoute, "prefix" | "targets">): Generator<Fault> {
  const shown = `it is ${JSON.stringify(prefix)}`;
  if (!prefix.startsWith("/") || prefix.endsWith("/")) {
    yield { key: "prefix", message: `must begin with / and not end with it; ${shown}` };
  } else if (!/^(?:\/(?!\.{1,2}(?:[/;]|$))[\w.~!$&'()*+,;=:@-]+)+$/.test(prefix)) {
    yield {
      key: "prefix",
      message: `must consist of segments without white space, %, ?, #, \\ and dot segments; ${shown}`,
    };
  }
  const origins = targets.map((target) => new URL(target).origin);
  if (origins.length === 0) yield { key: "targets", message: "must have at least one origin" };
  if (new Set(origins).size < origins.length) yield { key: "targets", message: "must not repeat an origin" };
}

/** Options of `gateway()`. */
export const gatewayOptions = defineOptions("gateway()", {
  /** The routes: a list, or an object of routes by name. Required. */
  routes: {
    kind: k.objectWith<readonly RouteOptions[] | Readonly<Record<string, RouteOptions>>>(
      "a list of routes, or an object of routes by name",
    ),
  },
  /**
   * Proxies whose `X-Forwarded-*` headers are passed on: addresses, ranges such as `10.0.0.0/8`, or `loopback`, `linklocal`
   * and `uniquelocal`. Default: the setting `trust proxy` of the Express app, else none.
   */
  trustedProxies: { kind: k.optional(k.listOf(k.string())) },
  /** The origins of this service; a target that is one of them is refused, because it would call itself. Default: none. */
  self: { kind: k.withDefault(k.listOf(origin), []) },
  /** Creates a client span for each request that is passed on (TRACE-10). Default: no spans. */
  span: { kind: k.optional(k.func<SpanHook>()) },
  /** Logs targets that stop and start answering, and failures that a client cannot see. Default: none. */
  logger: {
    kind: k.optional(
      k.objectWith<Pick<Logger, "info" | "warn" | "error">>("a logger", "info", "warn", "error"),
    ),
  },
  /** Monotonic clock in milliseconds, for tests. Default: `performance.now`. */
  now: { kind: k.monotonicClock },
}).withCheck(function* ({ trustedProxies }) {
  const wrong = (trustedProxies ?? []).filter((each) => trustOf([each]) === undefined);
  if (wrong.length > 0) {
    const message = `must contain only addresses, ranges, loopback, linklocal and uniquelocal; it has ${wrong.join(", ")}`;
    yield { key: "trustedProxies", message };
  }
});

/** Options of {@link gateway}. Times are in seconds. */
export type GatewayOptions = OptionsOf<typeof gatewayOptions>;
