import { authenticationRules } from "./authentication-rules.ts";
import { type Rule, section } from "./rule.ts";
import { sessionRules } from "./session-rules.ts";

export type { Rule } from "./rule.ts";

/** The rules that this kit knows, in the order of the contract. */
export const rules: readonly Rule[] = [
  ...section("profiles", {
    "PROF-2": "The reduced profile verifies tokens only, in modes public_key and secret",
    "PROF-3": "The reduced profile does not check revocation",
    "PROF-4": "The reduced profile emits no spans and passes trace context through unchanged",
  }),
  ...section("system-endpoints", {
    "SYS-1": "GET /health answers 200 with status, service, version and env while the process is up",
    "SYS-2": "GET /health probes no dependency",
    "SYS-3":
      "GET /ready answers 200 with the readiness report when serving, 503 when a critical dependency is down",
    "SYS-4": "Readiness is no liveness probe: /health stays 200 while /ready answers 503",
    "SYS-5": ["GET /info answers service, version, env, providers and plugins", "decided"],
    "SYS-6": "GET /info does not exist when the environment is prod: 404 problem",
    "SYS-7": "GET /metrics serves the service's metrics",
    "SYS-8": "Bodies of the system endpoints are JSON (metrics apart)",
  }),
  ...section("readiness", {
    "RDY-1": "The readiness report has status (ok or degraded), service and checks by name",
    "RDY-2": "A check result has healthy, detail and critical",
    "RDY-3": ["A check result also has status (ok, fail, timeout, error) and may have meta", "decided"],
    "RDY-4": "A failing check that is not critical makes the report degraded, with 200",
    "RDY-5": "A failing critical check makes /ready answer 503",
    "RDY-6": ["The 503 body is the readiness report with status unavailable, not a problem", "decided"],
    "RDY-7": ["A check that times out or throws keeps the criticality that it was declared with", "decided"],
    "RDY-8": ["All checks run side by side, each under readiness_timeout (2.0 s)", "decided"],
    "RDY-9": ["Concurrent /ready calls share one probe run", "decided"],
    "RDY-10": ["Results are reused for at most 1 s", "decided"],
    "RDY-11": ["The detail of a timeout is `health check did not answer within 2.0s`", "decided"],
    "RDY-12": [
      "The detail of a throw is `health check raised: <class>`, without connection strings or passwords",
      "decided",
    ],
    "RDY-13": ["The database check is critical", "decided"],
    "RDY-14": [
      "The auth check is critical only when no key was ever fetched; it reads state, never fetches or waits",
      "decided",
    ],
    "RDY-16": ["The cache check is never critical", "decided full"],
    "RDY-18": ["Metrics never make readiness critical", "decided"],
    "RDY-20": [
      "From SIGTERM on /ready answers 503 with the critical check shutdown: shutting down",
      "decided",
    ],
    "RDY-21": ["/health stays 200 until the process ends", "decided"],
    "RDY-22": ["A revocation store that does not answer, failing open, makes auth degraded", "full"],
    "RDY-23": ["An in-process token store is ok with a note that says what it does not do", "full"],
    "RDY-24": ["An unreachable key set with cached keys is degraded and reports the keys' age", "full"],
    "RDY-25": ["In jwks mode, no key ever fetched is critical", "full"],
  }),
  ...section("request-correlation", {
    "COR-1": "The caller's X-Request-ID is reused",
    "COR-2": "A request without X-Request-ID gets a minted id",
    "COR-3": "The request id is echoed on the response",
    "COR-4": "The request id is on every log line of the request",
    "COR-5": "The request id is forwarded on outbound calls",
    "COR-6": ["An accepted request id is 1 to 128 visible ASCII characters", "stricter"],
    "COR-7": [
      "Any other id, a duplicated header too, is replaced by a minted one: never refused, echoed or logged raw",
      "stricter",
    ],
    "COR-8": ["A minted id is 32 lowercase hex characters", "decided"],
    "COR-9": "traceparent and tracestate are read",
    "COR-10": "A traceparent is valid only as version 00 in lowercase hex with ids that are not all zeros",
    "COR-11": "An invalid traceparent is dropped together with its tracestate",
    "COR-12": "The trace id is logged as trace_id",
    "COR-13": "The trace context is sent on outbound calls",
    "COR-15": "A service that exports no spans passes the caller's context through unchanged",
  }),
  ...section("errors", {
    "ERR-1": "Every failure, unhandled exceptions included, is an application/problem+json document",
    "ERR-2": "A problem has type (about:blank by default), title, status, detail, instance and request_id",
    "ERR-3": ["title is always the RFC 9110 phrase, on every Node version", "decided"],
    "ERR-4": ["instance is the path alone, without the query", "decided"],
    "ERR-5": ["request_id is in every error body", "decided"],
    "ERR-6": ["Extra members are flat", "decided"],
    "ERR-7": "An unhandled exception answers 500 with a generic detail unless SVC_DEBUG is true",
    "ERR-8": [
      "The generic detail is `An unexpected error occurred`; the exception is logged with its stack at error level",
      "decided",
    ],
    "ERR-9": "A path that exists for another method answers 405",
    "ERR-10": ["405 is a problem with Allow listing the methods of that path", "decided"],
    "ERR-11": ["An unknown path answers a 404 problem", "decided"],
    "ERR-12": [
      "The 401 problem: Unauthorized, authentication required, WWW-Authenticate: Bearer, no reason",
      "decided",
    ],
    "ERR-13": ["The 403 of missing scopes names them, sorted, in detail and missing_scopes", "decided"],
    "ERR-14": ["The 403 of missing roles says `requires one of: x, y`", "decided"],
    "ERR-15": "A body that fails validation answers 422",
    "ERR-16": [
      "422 says `Request validation failed` and lists errors of {type, loc, msg, input?}",
      "decided",
    ],
    "ERR-17": ["input of a validation error is JSON-safe and cut at 512 characters", "decided"],
    "ERR-18": ["A wrong content type answers 415", "decided"],
    "ERR-19": ["Malformed JSON answers 400 naming the position, never echoing the body", "decided"],
    "ERR-21": ["Errors raised before routing are problems with a request id too", "decided"],
  }),
  ...section("http-limits", {
    "LIM-1": ["A body over max_body_bytes (2 MiB by default) answers 413", "decided"],
    "LIM-2": ["Content-Length is checked before the body is read", "decided"],
    "LIM-3": ["Chunked bodies are counted as they arrive", "decided"],
    "LIM-4": ["A request over the request timeout (30 s by default) answers 504", "decided"],
    "LIM-5": ["The request timeout acts before the first byte only", "decided"],
  }),
  ...section("ports", {
    "PORT-2": "HTTP listens on the base port",
    "PORT-4": ["The demo's own PostgreSQL listens on SVC_PORT + 1", "decided"],
    "PORT-7": ["The demo's own Redis listens on SVC_PORT + 3", "decided"],
  }),
  ...section("environment-variables", {
    "ENV-1": "SVC_APP_NAME is the service's name, in logs and metrics too",
    "ENV-2": "SVC_ENV is one of local, dev, staging, prod",
    "ENV-3": "SVC_PORT is the HTTP port, the base of the block",
    "ENV-4": "SVC_DEBUG says whether internal error detail reaches clients",
    "ENV-5": "SVC_LOG_JSON_LOGS switches structured logs on or off",
  }),
  ...section("logs", {
    "LOG-1": "One JSON object per line on standard output",
    "LOG-2": "A line has at least service, env, level and message, and request_id inside a request",
    "LOG-3": "The access line has message request, http_method, http_path, http_status and duration_ms",
    "LOG-4": "The access line has trace_id and tenant_id when present",
    "LOG-6": "With SVC_LOG_JSON_LOGS false lines are readable text",
  }),
  ...section("metrics", {
    "MET-1": ["/metrics is Prometheus text, text/plain; version=0.0.4", "decided"],
    "MET-2": ["/metrics is OpenMetrics only when Accept asks for it", "decided"],
    "MET-3": ["http_requests_total{method,endpoint,status}", "decided"],
    "MET-4": ["http_request_duration_seconds{method,endpoint}", "decided"],
    "MET-5": ["http_requests_in_progress{method}", "decided"],
    "MET-6": ["service_info{service,version}", "decided"],
    "MET-7": ["Process metrics are there", "decided"],
    "MET-8": ["endpoint is the route template with its mount prefix", "decided"],
    "MET-9": ["endpoint is <unmatched> when there is no template", "decided"],
    "MET-10": ["No label ever carries the raw path", "decided"],
  }),
  ...section("edge-of-the-network", {
    "EDGE-1": ["X-Forwarded-* is believed only from trusted_proxies (none by default)", "decided"],
    "EDGE-2": ["The chain of proxies is walked from the right", "decided"],
    "EDGE-3": ["A list of trusted_hosts refuses other hosts; an empty one takes any", "decided"],
    "EDGE-4": ["CORS is off until [service.cors] origins names origins", "decided"],
    "EDGE-6": ["security_headers: helmet's full set where HTML is served", "decided"],
    "EDGE-7": ["security_headers: nosniff, frame, referrer and a closed content policy for JSON", "decided"],
  }),
  ...section("framework-routes", {
    "ROUTE-2": ["A framework route goes in front of an application route that would claim its path", "full"],
  }),
  ...section("versioning", {
    "VER-1": "A service reports its own version in /health and /info",
    "VER-2": "An implementation has the system endpoints, correlation, errors, configuration, ports and logs",
    "VER-4": "A service that authenticates keeps the authentication rules too",
  }),
  ...authenticationRules,
  ...sessionRules,
  ...section("tenancy", {
    "TEN-1": "The sources are token, user, subdomain, path and header; token and subdomain by default",
    "TEN-2": "The subdomain source needs a base domain",
    "TEN-3": "require_tenant refuses a request that resolves to no tenant with 403, system endpoints apart",
    "TEN-4": "A signed claim comes before anything that a request can choose",
    "TEN-5": "X-Tenant-ID is a source only when header is listed; else it is only logged as tenant_claimed",
    "TEN-6": "With auth on a named tenant must be backed by the caller: 401 or 403 otherwise",
    "TEN-7": "trust_unscoped_principals lets a caller without a tenant act in the named one",
    "TEN-8": "A signed source outranks an unsigned one wherever it is listed",
    "TEN-9": "Without auth the first source that yields a tenant wins",
    "TEN-10": "requireTenant needs a resolved tenant",
    "TEN-12": ["A slug has 1 to 63 characters of a fixed alphabet", "decided"],
    "TEN-13": [
      "A subdomain tenant is exactly one label before the base domain; reserved labels name none",
      "decided",
    ],
    "TEN-14": ["The path source is /t/<slug>/..., configurable", "decided"],
    "TEN-15": ["The user source is the verified subject, of a fixed alphabet", "decided"],
    "TEN-16": ["Fixed paths are exempt from require_tenant, by whole segment", "decided"],
    "TEN-17": ["A request that only names a tenant without a grant is refused", "decided"],
    "TEN-18": ["requestedTenant() answers 404 when the request names no tenant", "decided"],
    "TEN-19": ["The three 403 texts are fixed", "decided"],
    "TEN-20": [
      "tenant_id is the granted tenant, tenant_claimed one that was named only, cut at 128",
      "decided",
    ],
  }),
];

const byId: ReadonlyMap<string, Rule> = new Map(rules.map((rule) => [rule.id, rule]));

/** Returns the rule with this id. */
export function ruleOf(id: string): Rule {
  const rule = byId.get(id);
  if (rule === undefined) throw new RangeError(`there is no rule ${id}`);
  return rule;
}

export function isRule(id: string): boolean {
  return byId.has(id);
}
