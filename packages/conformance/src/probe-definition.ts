import { optional, required } from "./define-option.ts";

/** The requests and settings with which the checks observe the service, by the object that contains them. */
export const probeDefinition = {
  probes: {
    open: optional("request", "returns 2xx to every caller", { otherwise: "`/health`", argument: "ROUTE" }),
    protected: optional(
      "request",
      "needs a verified caller, but no scope or role; if it is the same route as `scoped`, AUTH-14 is not checked",
      { otherwise: "the route of `scoped`", argument: "ROUTE" },
    ),
    scoped: optional("scoped", "needs all of `scopes`; if there is only one, AUTH-15 is not checked", {
      argument: '"ROUTE a,b"',
    }),
    role: optional("role", "needs one of `roles`", { argument: '"ROUTE x,y"' }),
    mixed: optional("request", "serves authenticated and anonymous callers", { argument: "ROUTE" }),
    tenant: optional(
      "tenant",
      "needs a tenant; ideally returns it in `member`, otherwise only the status is checked",
      { orText: true, argument: "ROUTE" },
    ),
    requestedTenant: optional("request", "needs a tenant named by the request, else returns 404"),
    failing: optional("failing", "throws an unhandled exception; `message` must not reach the client", {
      orText: true,
      argument: "ROUTE",
    }),
    json: optional("request", "accepts a JSON object of up to `limits.max_body_bytes`", {
      flag: "json-body",
      argument: "ROUTE",
    }),
    invalid: optional("invalid", "rejects the given body, and a body whose `long_member` is a long string"),
    templated: optional(
      "templated",
      "has a parameter, `{random}`; `template` is the route template as the service reports it, including its mount path",
    ),
    html: optional("request", "serves an HTML page"),
    outbound: optional(
      "request",
      "calls the URL given as `{url}` and does not forward `Authorization`; the kit listens on a free port of 127.0.0.1",
    ),
    gateway: optional(
      "request",
      "is forwarded by the service, a gateway, to the address of `serveUpstream`, including any segments after it",
    ),
    docs: optional(
      "request",
      "the interactive page of `/openapi.json`; in `prod`, without this probe, the page must be absent",
      { otherwise: "`/docs`" },
    ),
    limited: optional(
      "limited",
      "returns 2xx to every caller within a rate limit that no other probe shares, see [Rate limits](#rate-limits)",
      { orText: true },
    ),
    limitStore: optional("limitStore", "requests that break and repair the store of the rate limits"),
    slow: optional("request", "responds after the request timeout"),
    streaming: optional("request", "starts its response immediately and ends it after the request timeout"),
    dependencies: optional(
      "dependencies",
      "requests that break and repair a dependency; its check then does what `fault` says: `fails`, `hangs` or `throws`",
    ),
    session: optional("session", "signs a user in, see [Sessions](#sessions)"),
    federated: optional("federated", "a provider for sign-in, see [Sessions](#sessions)"),
  },
  scoped: {
    request: required("request", "the route"),
    scopes: required("texts", "its scopes"),
  },
  role: {
    request: required("request", "the route"),
    roles: required("texts", "its roles"),
  },
  tenant: {
    request: required("request", "the route"),
    member: optional("text", "the member of the response with the tenant", { default: "tenant" }),
  },
  failing: {
    request: required("request", "the route"),
    message: optional("text", "the message of the exception"),
  },
  invalid: {
    request: required("request", "the route, with the body that it rejects"),
    longMember: optional("text", "a member of the body"),
  },
  templated: {
    request: required("request", "the route"),
    template: required("text", "the template: `/items/:id`"),
  },
  limited: {
    request: required("request", "the route"),
    limit: optional("number", "its limit, in requests per window", { default: 100 }),
    windowSeconds: optional("number", "length of the window in seconds", { default: 60 }),
    burst: optional("number", "requests that it admits in one burst, from 4 to 200", {
      otherwise: "`limit`",
    }),
  },
  limitStore: {
    break: required("request", "breaks the store of the rate limits"),
    restore: required("request", "repairs the store"),
  },
  dependency: {
    check: required("text", "name of its check in `/ready`"),
    critical: required("boolean", "whether the check is critical"),
    fault: optional("fault", "what the check does while the dependency is broken", { default: "fails" }),
    break: required("request", "breaks the dependency; a URL may name another server, for example a proxy"),
    restore: required("request", "repairs the dependency"),
  },
  session: {
    request: required(
      "request",
      "signs a user in and returns a token pair as JSON, with a new session at every call",
    ),
    accessToken: optional(
      "name",
      "the member of that response with the access token; use dots for nested members",
      {
        default: "access_token",
      },
    ),
    refreshToken: optional("name", "the member with the refresh token", { default: "refresh_token" }),
    route: optional("request", "a route for that user, which shows whether an access token is accepted", {
      otherwise: "`protected`, else `/auth/me`",
    }),
    graceSeconds: optional(
      "amount",
      "`refresh_grace_seconds` of the service; the kit waits for this time, so configure 1 or 2 for a test",
      { default: 10 },
    ),
    accessSeconds: optional("amount", "lifetime of an access token", { default: 900 }),
    refreshSeconds: optional("amount", "lifetime of a refresh token", { default: 2_592_000 }),
    lifetimeDays: optional("amount", "`session_lifetime_days`; 0 means unlimited", { default: 0 }),
    hook: optional("hook", "requests that control the hook that the service calls at every refresh"),
    store: optional("store", "requests that break and repair the revocation store"),
    rotation: optional("rotation", "requests that rotate the signing key"),
  },
  hook: {
    decline: optional("request", "makes the hook return undefined"),
    fail: optional("request", "makes the hook throw"),
    grant: optional("scoped", "makes the hook return these `scopes`"),
    restore: required("request", "restores the normal behaviour: the scopes of the sign-in"),
  },
  store: {
    break: required("request", "breaks the store"),
    restore: required("request", "repairs the store"),
    failOpen: optional("boolean", "`revocation_fail_open` of the service", { default: true }),
  },
  rotation: {
    add: optional(
      "request",
      "publishes the next key; without this request the kit does not check whether a key is published before the service signs with it",
    ),
    promote: required("request", "makes the service sign with the next key"),
  },
  federated: {
    provider: required("name", "the provider's name in `/auth/<name>/start`"),
    authorizationEndpoint: optional("name", "where users are redirected to", { otherwise: "any address" }),
  },
};
