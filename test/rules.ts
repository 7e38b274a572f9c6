/**
 * The list of all rules. `docs/contract.md` states each rule in full under the same id, in the section named here; a test
 * names the rules that it proves in its title. Ids never change: rules are only added.
 */

export interface Rule {
  readonly id: string;
  /** One line. The full statement is in docs/contract.md. */
  readonly title: string;
  /** The section: the anchor of its heading in docs/contract.md, and the origin of the rule. */
  readonly contract: {
    readonly section: string;
    /** `contract`: the service contract states it. `decision`: the contract leaves it open, and this project decided it. */
    readonly source: "contract" | "decision";
    /** A decision that deliberately asks for more than the contract, or departs from its text. */
    readonly mark?: "stricter" | "differs" | undefined;
  };
  /** `both`: applies to services of both profiles. `full`: only to the full profile. */
  readonly profile: "both" | "full";
  /** True when a client can observe it over HTTP or in another format (a queue table, a log line, a cookie). */
  readonly outside: boolean;
  readonly status: "done" | "planned";
  /** The folder that owns the rule: one of packages/, or a path from the root of the repository. */
  readonly package: string;
}

interface Details {
  readonly source?: Rule["contract"]["source"];
  readonly mark?: "stricter" | "differs";
  readonly profile?: Rule["profile"];
  readonly outside?: boolean;
  readonly status?: Rule["status"];
  readonly package?: string;
}

/** Makes a section: the properties that its rules share, then id and title, with the exceptions of single rules. */
function section(
  name: string,
  common: Details & { readonly package: string },
  entries: Readonly<Record<string, string | readonly [string, Details]>>,
): readonly Rule[] {
  return Object.entries(entries).map(([id, entry]) => {
    const [title, own]: readonly [string, Details] = typeof entry === "string" ? [entry, {}] : entry;
    const all = { ...common, ...own };
    return {
      id,
      title,
      contract: { section: name, source: all.source ?? "contract", mark: all.mark },
      profile: all.profile ?? "both",
      outside: all.outside ?? true,
      status: all.status ?? "done",
      package: all.package,
    };
  });
}

const decided: Details = { source: "decision" };
const stricter: Details = { source: "decision", mark: "stricter" };
const differs: Details = { source: "decision", mark: "differs" };

const delivered: readonly (readonly Rule[])[] = [
  section(
    "profiles",
    { package: "express" },
    {
      "PROF-1": [
        "The reduced profile has no plugin system and no file; it is a code option",
        { outside: false },
      ],
      "PROF-2": [
        "The reduced profile verifies tokens only, in modes public_key and secret",
        { package: "jwt-auth" },
      ],
      "PROF-3": ["The reduced profile does not check revocation", { package: "jwt-auth" }],
      "PROF-4": [
        "The reduced profile emits no spans and passes trace context through unchanged",
        { package: "request-id" },
      ],
      "PROF-5": ["The reduced profile has no queue worker", { package: "express", outside: false }],
      "PROF-6": ["The reduced profile offers the service kind api alone", { outside: false }],
      "PROF-7": [
        "The full profile has the service kinds api, web and gateway",
        { package: "gateway", status: "planned", profile: "full" },
      ],
    },
  ),

  section(
    "system-endpoints",
    { package: "health" },
    {
      "SYS-1": "GET /health answers 200 with status, service, version and env while the process is up",
      "SYS-2": "GET /health probes no dependency",
      "SYS-3":
        "GET /ready answers 200 with the readiness report when serving, 503 when a critical dependency is down",
      "SYS-4": "Readiness is no liveness probe: /health stays 200 while /ready answers 503",
      "SYS-5": ["GET /info answers service, version, env, providers and plugins", decided],
      "SYS-6": "GET /info does not exist when the environment is prod: 404 problem",
      "SYS-7": ["GET /metrics serves the service's metrics", { package: "metrics" }],
      "SYS-8": "Bodies of the system endpoints are JSON (metrics apart)",
    },
  ),

  section(
    "readiness",
    { package: "health" },
    {
      "RDY-1": "The readiness report has status (ok or degraded), service and checks by name",
      "RDY-2": "A check result has healthy, detail and critical",
      "RDY-3": ["A check result also has status (ok, fail, timeout, error) and may have meta", decided],
      "RDY-4": "A failing check that is not critical makes the report degraded, with 200",
      "RDY-5": "A failing critical check makes /ready answer 503",
      "RDY-6": ["The 503 body is the readiness report with status unavailable, not a problem", decided],
      "RDY-7": ["A check that times out or throws keeps the criticality that it was declared with", decided],
      "RDY-8": ["All checks run side by side, each under readiness_timeout (2.0 s)", decided],
      "RDY-9": ["Concurrent /ready calls share one probe run", decided],
      "RDY-10": ["Results are reused for at most 1 s", decided],
      "RDY-11": ["The detail of a timeout is `health check did not answer within 2.0s`", decided],
      "RDY-12": [
        "The detail of a throw is `health check raised: <class>`, without connection strings or passwords",
        decided,
      ],
      "RDY-13": ["The database check is critical", { ...decided, package: "database" }],
      "RDY-14": [
        "The auth check is critical only when no key was ever fetched; it reads state, never fetches or waits",
        { ...decided, package: "jwt-auth" },
      ],
      "RDY-15": [
        "The queue check is critical when its table is unreachable; dead jobs are a note",
        { ...decided, package: "job-table", profile: "full" },
      ],
      "RDY-16": ["The cache check is never critical", { ...decided, package: "cache", profile: "full" }],
      "RDY-17": [
        "Telemetry never makes readiness critical",
        { package: "telemetry", status: "planned", profile: "full" },
      ],
      "RDY-18": ["Metrics never make readiness critical", { ...decided, package: "metrics" }],
      "RDY-19": ["The event bus check is never critical", { ...decided, package: "events", profile: "full" }],
      "RDY-20": [
        "From SIGTERM on /ready answers 503 with the critical check shutdown: shutting down",
        decided,
      ],
      "RDY-21": ["/health stays 200 until the process ends", decided],
      "RDY-22": [
        "A revocation store that does not answer, failing open, makes auth degraded",
        { package: "token-store", profile: "full" },
      ],
      "RDY-23": [
        "An in-process token store is ok with a note that says what it does not do",
        { package: "token-store", profile: "full" },
      ],
      "RDY-24": [
        "An unreachable key set with cached keys is degraded and reports the keys' age",
        { package: "jwt-auth", profile: "full" },
      ],
      "RDY-25": ["In jwks mode, no key ever fetched is critical", { package: "jwt-auth", profile: "full" }],
    },
  ),

  section(
    "request-correlation",
    { package: "request-id" },
    {
      "COR-1": "The caller's X-Request-ID is reused",
      "COR-2": "A request without X-Request-ID gets a minted id",
      "COR-3": "The request id is echoed on the response",
      "COR-4": ["The request id is on every log line of the request", { package: "log" }],
      "COR-5": "The request id is forwarded on outbound calls",
      "COR-6": ["An accepted request id is 1 to 128 visible ASCII characters", stricter],
      "COR-7": [
        "Any other id, a duplicated header too, is replaced by a minted one: never refused, echoed or logged raw",
        stricter,
      ],
      "COR-8": ["A minted id is 32 lowercase hex characters", decided],
      "COR-9": "traceparent and tracestate are read",
      "COR-10": "A traceparent is valid only as version 00 in lowercase hex with ids that are not all zeros",
      "COR-11": "An invalid traceparent is dropped together with its tracestate",
      "COR-12": ["The trace id is logged as trace_id", { package: "log" }],
      "COR-13": "The trace context is sent on outbound calls",
      "COR-14": [
        "A service that exports spans sends its own span as parent",
        { package: "telemetry", status: "planned", profile: "full" },
      ],
      "COR-15": "A service that exports no spans passes the caller's context through unchanged",
    },
  ),

  section(
    "errors",
    { package: "problem" },
    {
      "ERR-1": "Every failure, unhandled exceptions included, is an application/problem+json document",
      "ERR-2": "A problem has type (about:blank by default), title, status, detail, instance and request_id",
      "ERR-3": ["title is always the RFC 9110 phrase, on every Node version", decided],
      "ERR-4": ["instance is the path alone, without the query", decided],
      "ERR-5": ["request_id is in every error body", decided],
      "ERR-6": ["Extra members are flat", decided],
      "ERR-7": "An unhandled exception answers 500 with a generic detail unless SVC_DEBUG is true",
      "ERR-8": [
        "The generic detail is `An unexpected error occurred`; the exception is logged with its stack at error level",
        decided,
      ],
      "ERR-9": "A path that exists for another method answers 405",
      "ERR-10": ["405 is a problem with Allow listing the methods of that path", decided],
      "ERR-11": ["An unknown path answers a 404 problem", decided],
      "ERR-12": [
        "The 401 problem: Unauthorized, authentication required, WWW-Authenticate: Bearer, no reason",
        decided,
      ],
      "ERR-13": [
        "The 403 of missing scopes names them, sorted, in detail and missing_scopes",
        { ...decided, package: "jwt-auth" },
      ],
      "ERR-14": [
        "The 403 of missing roles says `requires one of: x, y`",
        { ...decided, package: "jwt-auth" },
      ],
      "ERR-15": "A body that fails validation answers 422",
      "ERR-16": [
        "422 says `Request validation failed` and lists errors of {type, loc, msg, input?}",
        decided,
      ],
      "ERR-17": ["input of a validation error is JSON-safe and cut at 512 characters", decided],
      "ERR-18": ["A wrong content type answers 415", { ...decided, package: "json-body" }],
      "ERR-19": [
        "Malformed JSON answers 400 naming the position, never echoing the body",
        { ...decided, package: "json-body" },
      ],
      "ERR-20": [
        "An exceeded rate limit answers 429",
        { package: "rate-limit", status: "planned", profile: "full" },
      ],
      "ERR-21": ["Errors raised before routing are problems with a request id too", decided],
    },
  ),

  section(
    "http-limits",
    { package: "json-body" },
    {
      "LIM-1": ["A body over max_body_bytes (2 MiB by default) answers 413", decided],
      "LIM-2": ["Content-Length is checked before the body is read", decided],
      "LIM-3": ["Chunked bodies are counted as they arrive", decided],
      "LIM-4": [
        "A request over the request timeout (30 s by default) answers 504",
        { ...decided, package: "express" },
      ],
      "LIM-5": ["The request timeout acts before the first byte only", { ...decided, package: "express" }],
    },
  ),

  section(
    "ports",
    { package: "config" },
    {
      "PORT-1": ["A service owns ten consecutive ports from SVC_PORT", { outside: false }],
      "PORT-2": ["HTTP listens on the base port", { package: "express" }],
      "PORT-3": ["The other nine ports have fixed uses by their offset", { outside: false }],
      "PORT-4": [
        "The demo's own PostgreSQL listens on SVC_PORT + 1",
        { ...decided, package: "dev-services" },
      ],
      "PORT-5": [
        "A port that is taken stops the demo with a message",
        { ...decided, package: "dev-services", outside: false },
      ],
      "PORT-6": [
        "The demo keeps its data in .svc/ of the checkout, or in a temp folder of the checkout's hash when root",
        { ...decided, package: "dev-services", outside: false },
      ],
      "PORT-7": [
        "The demo's own Redis listens on SVC_PORT + 3",
        { ...decided, package: "dev-services", status: "planned" },
      ],
      "PORT-8": [
        "Blocks are allocated by the workspace, not picked by hand",
        { package: "cli", status: "planned", outside: false },
      ],
    },
  ),

  section(
    "environment-variables",
    { package: "config" },
    {
      "ENV-1": "SVC_APP_NAME is the service's name, in logs and metrics too",
      "ENV-2": "SVC_ENV is one of local, dev, staging, prod",
      "ENV-3": "SVC_PORT is the HTTP port, the base of the block",
      "ENV-4": "SVC_DEBUG says whether internal error detail reaches clients",
      "ENV-5": "SVC_LOG_JSON_LOGS switches structured logs on or off",
      "ENV-6": [
        "No other name is read from the environment: everything else is a key of the file or an option in code",
        { outside: false },
      ],
      "ENV-7": [
        "Development tools may read nine more names",
        { ...decided, outside: false, package: "test" },
      ],
    },
  ),

  section(
    "logs",
    { package: "log" },
    {
      "LOG-1": "One JSON object per line on standard output",
      "LOG-2": "A line has at least service, env, level and message, and request_id inside a request",
      "LOG-3": "The access line has message request, http_method, http_path, http_status and duration_ms",
      "LOG-4": "The access line has trace_id and tenant_id when present",
      "LOG-5": ["Logs go to standard output only, never to a file or socket", { outside: false }],
      "LOG-6": "With SVC_LOG_JSON_LOGS false lines are readable text",
    },
  ),

  section(
    "metrics",
    { package: "metrics" },
    {
      "MET-1": ["/metrics is Prometheus text, text/plain; version=0.0.4", decided],
      "MET-2": ["/metrics is OpenMetrics only when Accept asks for it", decided],
      "MET-3": ["http_requests_total{method,endpoint,status}", decided],
      "MET-4": ["http_request_duration_seconds{method,endpoint}", decided],
      "MET-5": ["http_requests_in_progress{method}", decided],
      "MET-6": ["service_info{service,version}", decided],
      "MET-7": ["Process metrics are there", decided],
      "MET-8": ["endpoint is the route template with its mount prefix", decided],
      "MET-9": ["endpoint is <unmatched> when there is no template", decided],
      "MET-10": ["No label ever carries the raw path", decided],
    },
  ),

  section(
    "configuration",
    { package: "config", source: "decision", outside: false, profile: "full" },
    {
      "CFG-1":
        "service.toml has [service], [plugins], [plugin.<name>], [plugin.auth.providers.<name>] and [logging]",
      "CFG-2": [
        "The file's place is a code option or the first argument of the start command",
        { package: "express" },
      ],
      "CFG-3": "The environment wins for env, debug and port",
      "CFG-4": [
        "The environment wins for issuer, audience, key-set URL, secret, public key and base domain",
        { source: "contract", package: "jwt-auth" },
      ],
      "CFG-5": ["The file wins for everything else that both can say", { source: "contract" }],
      "CFG-6": [
        "Components are switched on by the list `enabled` in [plugins]",
        { source: "contract", package: "express" },
      ],
      "CFG-7": ["The plugin names are the contract's twelve and six more", { package: "express" }],
      "CFG-8": [
        "A plugin that is not built or unknown is refused with the names that exist",
        { package: "express" },
      ],
      "CFG-9": ["The reference set observability, cache, auth starts", { package: "cache" }],
      "CFG-10": "Any string of the file may name environment variables: ${NAME} and ${NAME:-default}",
      "CFG-11": "A missing environment variable stops the start and names the key",
      "CFG-12": "All faults are found at once",
      "CFG-13":
        "A fault names key, value (secrets masked), what is allowed, and the nearest known name of an unknown key",
      "CFG-14": ["Faults end the process with exit code 2", { package: "express" }],
      "CFG-15": ["debug in prod is a loud warning at every start", { package: "express", profile: "both" }],
      "CFG-16": ["Demo data is refused in prod", { package: "examples/full-service" }],
      "CFG-17": ["Demo users and demo keys are refused in prod", { package: "examples/full-service" }],
      "CFG-18": [
        "Defaults: host 0.0.0.0 (127.0.0.1 in local), port 8000, env local, debug false, level INFO, JSON logs",
        { profile: "both" },
      ],
    },
  ),

  section(
    "edge-of-the-network",
    { package: "express", source: "decision" },
    {
      "EDGE-1": "X-Forwarded-* is believed only from trusted_proxies (none by default)",
      "EDGE-2": "The chain of proxies is walked from the right",
      "EDGE-3": "A list of trusted_hosts refuses other hosts; an empty one takes any",
      "EDGE-4": "CORS is off until [service.cors] origins names origins",
      "EDGE-5": ["CORS origin * with credentials is refused at startup", { outside: false }],
      "EDGE-6": "security_headers: helmet's full set where HTML is served",
      "EDGE-7": "security_headers: nosniff, frame, referrer and a closed content policy for JSON",
    },
  ),

  section(
    "framework-routes",
    { package: "express", profile: "full" },
    {
      "ROUTE-1": [
        "Framework routes are registered behind application routes at the end of startup",
        { outside: false },
      ],
      "ROUTE-2": "A framework route goes in front of an application route that would claim its path",
      "ROUTE-3": ["Routes with parameters are never moved", { outside: false }],
    },
  ),

  section(
    "performance-budget",
    { package: "bench", outside: false },
    {
      "PERF-1": "The budget check is enabled by SVC_PERF_BUDGET=1",
      "PERF-2": "The budget check fails when a budgeted ratio grew more than 20 % over the baseline",
      "PERF-3": "The baseline has one entry per platform",
    },
  ),

  section(
    "versioning",
    { package: "health" },
    {
      "VER-1": "A service reports its own version in /health and /info",
      "VER-2": [
        "An implementation has the system endpoints, correlation, errors, configuration, ports and logs",
        { package: "express" },
      ],
      "VER-3": [
        "An implementation is built and run by a continuous-integration job",
        { package: "test", outside: false },
      ],
      "VER-4": ["A service that authenticates keeps the authentication rules too", { package: "jwt-auth" }],
    },
  ),
];

const planned: readonly (readonly Rule[])[] = [
  section(
    "rate-limiter",
    { package: "rate-limit", status: "planned", profile: "full", source: "decision" },
    {
      "RATE-1": "429 carries limit, remaining and retry_after",
      "RATE-2":
        "429 carries RateLimit-Limit, RateLimit-Remaining, RateLimit-Reset and Retry-After (at least 1)",
      "RATE-3": "The limiter is opt-in: a token bucket, 100 per 60 s, burst = limit",
      "RATE-4": "The key is the subject, else the tenant, else the client's address",
      "RATE-5": "The limiter fails open with a warning at most every 10 s",
    },
  ),

  section(
    "route-descriptions",
    { package: "openapi", status: "planned", profile: "full" },
    {
      "DOC-1": "GET /openapi.json describes the service's routes",
      "DOC-2": ["/openapi.json is OpenAPI 3.1, always there; openapi = false closes it", decided],
      "DOC-3": ["/docs is an interactive page, not in prod unless switched on", decided],
    },
  ),

  section(
    "outbound-calls",
    { package: "http-client", status: "planned", profile: "full" },
    {
      "HTTP-1": "An outbound call carries X-Request-ID, traceparent and tracestate",
      "HTTP-2": "An outbound call does not carry the tenant",
      "HTTP-3": "An outbound call carries Authorization only with forward_authorization = true",
    },
  ),

  section(
    "authentication",
    { package: "jwt-auth" },
    {
      "AUTH-1": "Authentication is off by default",
      "AUTH-2": "The modes are jwks (the full profile's default), public_key and secret",
      "AUTH-3": "Algorithms come from configuration (RS256 by default), never from the token's own header",
      "AUTH-4": "The algorithm none is never allowed",
      "AUTH-5": [
        "Symmetric and asymmetric algorithms together are refused at startup, naming them",
        { outside: false },
      ],
      "AUTH-6": "aud and iss are required and verified whenever they are configured",
      "AUTH-7": ["An empty audience logs a warning at startup", { outside: false }],
      "AUTH-8": "The leeway on exp, nbf and iat is 30 s by default",
      "AUTH-9": "exp, iat and sub are required",
      "AUTH-10": "A refresh token is never accepted as a bearer token",
      "AUTH-11": "The reason of a failed token goes to the log only; the client gets a bare 401",
      "AUTH-12": "A bad token on an open route is ignored",
      "AUTH-13": "401 means no verified caller, 403 a caller without the scope, role or tenant",
      "AUTH-14": "requireAuth lets any verified caller pass",
      "AUTH-15": "requireScopes needs all listed scopes",
      "AUTH-16": "requireRoles needs any one listed role",
      "AUTH-17": "A mixed route takes a caller or none",
      "AUTH-18": [
        "Outside a guard a synchronous accessor gives the caller or raises the same 401",
        { outside: false },
      ],
      "AUTH-19": ["The principal has nine fields", { ...decided, outside: false }],
      "AUTH-20": ["A token is at most 8 KiB", stricter],
      "AUTH-21": ["Token parts are canonical base64url of valid UTF-8 without BOM", stricter],
      "AUTH-22": ["A kid has at most 256 characters", stricter],
      "AUTH-23": ["Dates are finite and within 0 to 8.64e12", stricter],
      "AUTH-24": ["A crit header is refused", stricter],
      "AUTH-25": ["RSA keys have at least 2,048 bits", stricter],
      "AUTH-26": ["Thirteen algorithms are known; key type and curve must match", decided],
      "AUTH-27": ["Scope and roles claims may be a string or a list", decided],
      "AUTH-28": ["Claims have fixed types; fractions of dates are truncated", decided],
      "AUTH-29": ["An iat later than now + leeway is refused", decided],
      "AUTH-30": ["exp <= now - leeway is expired", decided],
      "AUTH-31": ["In prod an HMAC secret has at least 32 bytes", { ...decided, outside: false }],
      "AUTH-32": [
        "A PEM or ssh- key as an HMAC secret is refused everywhere",
        { ...decided, outside: false },
      ],
      "AUTH-33": [
        "The token comes from the bearer header alone unless the application gives tokenFrom",
        decided,
      ],
      "AUTH-34": [
        "With tokenFrom an unsafe method needs a same-origin Sec-Fetch-Site or Origin, else 403",
        decided,
      ],
      "AUTH-35": [
        "In the reduced profile SVC_AUTH_MODE or exactly one key variable switches auth on",
        { outside: false },
      ],
      "AUTH-36": [
        "In the reduced profile algorithms default to HS256 for a secret, RS256 otherwise",
        { outside: false },
      ],
      "AUTH-37": ["The reduced profile refuses to start on what it cannot enforce", { outside: false }],
      "AUTH-38": ["The settings have fixed keys, variables and defaults", { outside: false }],
      "AUTH-39": ["Tenant, sub, jti and fam are texts that every log and store can hold", stricter],
    },
  ),

  section(
    "claims",
    { package: "jwt-auth" },
    {
      "CLAIM-1": "The names of the scope, roles and tenant claims are configurable",
      "CLAIM-2": "jti is the id of a token and can be revoked",
      "CLAIM-3": "fam is the session family, random per login, on both tokens of a pair",
      "CLAIM-4": "typ refresh marks a refresh token",
      "CLAIM-5": "grt is on refresh tokens alone and is never read as authorization",
      "CLAIM-6": "The header kid picks the key in jwks mode",
      "CLAIM-7": "The scopes of a principal are empty on a refresh token",
      "CLAIM-8": "The principal has subject, scopes, roles and tenant",
    },
  ),

  section(
    "key-sets",
    { package: "jwt-auth", profile: "full" },
    {
      "KEY-1": "An unknown kid triggers a refresh of the key set, at most once a minute",
      "KEY-2": "A new key is fetched on the first token that names it",
      "KEY-3": [
        "An old key stays published until every token signed with it has expired",
        { package: "token-issuer" },
      ],
      "KEY-4": "Cached keys keep verifying while the endpoint is unreachable",
      "KEY-5": "Callers queued behind a failed fetch share its failure",
      "KEY-6": "A fetch has one deadline for all tries and a number of tries",
      "KEY-7": "Only 429, 5xx and network errors are retried",
      "KEY-8": ["Timeouts are retried too; retries wait 0.2 to 1.0 s with full jitter", decided],
      "KEY-9": "Consecutive failed refreshes open the breaker; cached keys are served",
      "KEY-10": "After the cool-down one trial is allowed",
      "KEY-11": ["A token without kid is accepted only when the set has exactly one usable key", decided],
      "KEY-12": ["Keys with use enc, a foreign alg or kty oct are ignored", decided],
      "KEY-13": ["The body of a key set is bounded (1 MiB)", decided],
      "KEY-14": ["A plain http key-set URL is refused in prod", { ...decided, outside: false }],
      "KEY-15": ["One fetch at a time; waiting requests share its result", decided],
    },
  ),

  section(
    "issuing",
    { package: "token-issuer", profile: "full" },
    {
      "ISS-1": "There is no login endpoint and no user model",
      "ISS-2": ["The issuer issues a pair for a subject with scopes and a tenant", { outside: false }],
      "ISS-3": "Every login gets a random session family that both tokens carry",
      "ISS-4": ["Access tokens live 15 minutes, refresh tokens 30 days", { profile: "both" }],
      "ISS-5": "POST /auth/logout revokes the caller's jti and family",
      "ISS-6": "Logout of a token without fam revokes the jti alone",
      "ISS-7": "Logout leaves other sessions of the same person alone",
      "ISS-8": ["Logout answers 204 with an empty body, also with nothing to revoke", decided],
      "ISS-9": ["GET /auth/me answers subject, tenant_id, scopes, roles and token_id", decided],
      "ISS-10": ["A token is written with a fixed set of claims", decided],
      "ISS-11": ["A refresh token has grt {scopes, roles} and no scope or roles claims", decided],
      "ISS-12": ["The header kid is always written for asymmetric keys", decided],
      "ISS-13": ["Overriding a reserved claim is an error", { ...decided, outside: false }],
      "ISS-14": ["Issuing works with HMAC, RSA, EC and Ed25519 private keys", decided],
      "ISS-15": ["With an asymmetric key GET /.well-known/jwks.json publishes the key set", decided],
      "ISS-16": [
        "In prod issuing without a shared token store is refused at startup",
        { ...stricter, outside: false },
      ],
      "ISS-17": ["A store outage during a logout answers 503", decided],
      "ISS-18": "Authentication operations emit no events",
      "ISS-19": "The issuer can revoke tokens and sessions",
    },
  ),

  section(
    "revocation",
    { package: "token-store", profile: "full" },
    {
      "REV-1": "An entry's key is a jti or a family",
      "REV-2": "An entry lives as long as the token it revokes would",
      "REV-3": "The store is shared when the cache component is enabled, process memory otherwise",
      "REV-4": "Failing open, a token is accepted unchecked with a warning at most every 10 s",
      "REV-5": "Failing closed, every authenticated request answers 503 until the store is back",
      "REV-6": ["The 503 has a fixed title, detail and Retry-After, on open routes too", decided],
      "REV-7": ["The store's client gives each command 1 s", { package: "cache" }],
      "REV-8": ["The store's client stops calling a store that does not answer", { package: "cache" }],
      "REV-9": ["A jti is kept until exp + leeway, a family for the refresh lifetime + leeway", decided],
      "REV-10": ["revokeSubject compares auth_time and is kept for the full refresh lifetime", decided],
      "REV-11": "A logout on one replica is refused on another, for both token kinds",
    },
  ),

  section(
    "refresh",
    { package: "token-issuer", profile: "full" },
    {
      "REF-1":
        "POST /auth/refresh takes {refresh_token} and answers a new pair; the presented token is invalidated",
      "REF-2": [
        "The pair is {access_token, refresh_token, token_type, expires_in}, with Cache-Control: no-store",
        decided,
      ],
      "REF-3": "The new access token keeps the rights in grt",
      "REF-4": "A live token is rotated; only the winner writes the just-rotated mark",
      "REF-5": "A just-replaced token within the grace window answers 401 and revokes nothing",
      "REF-6": "A used token outside the window revokes the family for the refresh lifetime and answers 401",
      "REF-7": [
        "The store enforces the window: consume and mark are one step that a replay cannot repeat",
        { package: "token-store" },
      ],
      "REF-8": [
        "One atomic step checks the family, consumes and marks; nothing is minted before it",
        { ...decided, package: "token-store" },
      ],
      "REF-9": ["The refresh hook receives the principal and returns a Grant or nothing", { outside: false }],
      "REF-10": "A hook that returns nothing revokes the family at once",
      "REF-11": "The hook runs before the token is consumed; when it raises, nothing is consumed: 500",
      "REF-12": "A refresh token minted before grt existed answers 401",
      "REF-13": ["Refusals are 401 problems with eight fixed texts", decided],
      "REF-14": "refresh_grace_seconds is the window (10 by default, 0 = strict)",
      "REF-15": ["session_lifetime_days ends a session absolutely (0 = never)", decided],
      "REF-16": ["After a hook scopes come from its Grant, roles from grt", decided],
      "REF-17": [
        "A store outage during a refresh answers 503; nothing is consumed, failing open too",
        decided,
      ],
      "REF-18": [
        "A token store implements rotated, raced and replayed",
        { package: "token-store", outside: false },
      ],
      "REF-19": "One refresh token sent to two replicas at once rotates once",
    },
  ),

  section(
    "federated-sign-in",
    { package: "oidc-login", profile: "full" },
    {
      "OIDC-1": "The start and callback routes exist for every configured provider",
      "OIDC-2": "Start redirects to the provider's authorization endpoint",
      "OIDC-3": ["Start answers 302 with state, nonce and PKCE (S256) for every provider", decided],
      "OIDC-4":
        "The login cookie holds state and nonce; it is HttpOnly, SameSite=Lax, Secure outside development",
      "OIDC-5": ["The login cookie has a name per attempt, 600 s and at most 5 live ones", decided],
      "OIDC-6": ["The login cookie is encrypted and authenticated with a key from configuration", decided],
      "OIDC-7": ["The login cookie is deleted on success and failure; two tabs can sign in at once", decided],
      "OIDC-8": ["return_to is a local path only", decided],
      "OIDC-9": "The callback verifies aud, iss, state, nonce and signature",
      "OIDC-10": "The callback calls the identity handler, which returns the application's own token",
      "OIDC-11": "Without a handler the callback answers 500 saying so",
      "OIDC-12": ["The callback's refusals are 404, 401 and 503", decided],
      "OIDC-13": ["RFC 9207 iss is checked when present", decided],
      "OIDC-14": ["A response that the handler sent is left alone; any other value is 200 JSON", decided],
      "OIDC-15": [
        "A provider has client_id, client_secret and redirect_uri; others than the built-in ones four more",
        { outside: false },
      ],
      "OIDC-16": ["The built-in providers are google, microsoft and github", decided],
      "OIDC-17": "A provider without ID tokens is refused by ID-token verification",
      "OIDC-18": [
        "For github the handler receives the access token, and a helper fills the identity",
        { ...decided, outside: false },
      ],
      "OIDC-19": ["The identity has federated_id, subject, email and email_verified", { outside: false }],
      "OIDC-20": [
        "federated_id is <provider>:<subject>; name, picture, provider and claims are there too",
        { ...decided, outside: false },
      ],
      "OIDC-21": [
        "The application stores federated_id and never matches on an unverified email",
        { outside: false },
      ],
    },
  ),

  section(
    "tenancy",
    { package: "tenancy" },
    {
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
      "TEN-11": ["In the reduced profile SVC_TENANCY_SOURCES switches tenancy on", { outside: false }],
      "TEN-12": ["A slug has 1 to 63 characters of a fixed alphabet", decided],
      "TEN-13": [
        "A subdomain tenant is exactly one label before the base domain; reserved labels name none",
        decided,
      ],
      "TEN-14": ["The path source is /t/<slug>/..., configurable", decided],
      "TEN-15": ["The user source is the verified subject, of a fixed alphabet", decided],
      "TEN-16": ["Fixed paths are exempt from require_tenant, by whole segment", decided],
      "TEN-17": ["A request that only names a tenant without a grant is refused", decided],
      "TEN-18": ["requestedTenant() answers 404 when the request names no tenant", decided],
      "TEN-19": ["The three 403 texts are fixed", decided],
      "TEN-20": [
        "tenant_id is the granted tenant, tenant_claimed one that was named only, cut at 128",
        decided,
      ],
      "TEN-21": [
        "Unknown or empty sources and subdomain without base domain are refused at startup",
        { ...decided, outside: false },
      ],
      "TEN-22": ["The header source in prod is a warning at startup", { ...decided, outside: false }],
      "TEN-23": ["Tenancy has fixed variables and defaults", { outside: false }],
    },
  ),

  section(
    "job-queue",
    { package: "job-table", profile: "full" },
    {
      "JOB-1": "Jobs stand in a relational table, svc_jobs unless [plugin.queue] name says otherwise",
      "JOB-2": "The table has thirteen columns of fixed types",
      "JOB-3": "A job id is 32 hex by default; inserting an existing id does nothing",
      "JOB-4": "A claim takes one row atomically, skipping locked ones, ordered by available_at",
      "JOB-5": "A claim sets running, attempts and locked_until and returns eight columns",
      "JOB-6": "Nothing extends a lease",
      "JOB-7": "A finished job is deleted by its id",
      "JOB-8": "A failure with attempts left goes back to pending after min(2 x 2^(attempts - 1), 300) s",
      "JOB-9": "A failure at max_attempts makes the job dead",
      "JOB-10": "A job without a handler is dead at once",
      "JOB-11": "A job released on shutdown is pending at once and gets its attempt back",
      "JOB-12": "An operator's retry makes a dead job pending with no attempts",
      "JOB-13": "last_error has at most 2,000 characters",
      "JOB-14": "The visibility timeout is 300 s by default",
      "JOB-15": "max_attempts is 3 by default",
      "JOB-16": "A running job whose lease ran out can be claimed again",
      "JOB-17": "A worker restores the job's tenant before touching data",
      "JOB-18": "A worker logs the job's request_id and trace id",
      "JOB-19": ["A handler finishes inside the visibility timeout", { outside: false }],
      "JOB-20": "A worker claims every row of the table it drains",
      "JOB-21": ["Ack, fail and release name the lease that they hold", decided],
      "JOB-22": ["An expired lease on the last attempt is dead at claim time and is not returned", differs],
      "JOB-23": [
        "The worker claims only free slots; prefetch is opt-in and bounded",
        { ...decided, outside: false },
      ],
      "JOB-24": ["Two partial indexes serve the claim", decided],
      "JOB-25": [
        "claim() keeps the contract's order; the worker may look for expired leases once a second",
        { ...decided, outside: false },
      ],
      "JOB-26": [
        "The worker's defaults: concurrency 4, job timeout 0.8 x visibility, drain 25 s",
        { ...decided, outside: false },
      ],
      "JOB-27": ["trace, request_id and tenant_id of a job are the current context's", decided],
      "JOB-28": ["A table made by hand with the contract's columns is accepted", decided],
      "JOB-29": [
        "ensureSchema() on a complete schema takes no strong lock and no advisory lock",
        { ...decided, package: "sql", outside: false },
      ],
      "JOB-30": [
        "The schema comes from migration files or ensureSchema() under an advisory lock",
        { ...decided, outside: false },
      ],
      "JOB-31": ["dead(), retryDead() and stats() serve the operator", { ...decided, outside: false }],
      "JOB-32": ["/queue and /queue/stats are mounted where the application wants them, guarded", decided],
      "JOB-33": [
        "A payload with an integer that JavaScript would round makes its job dead at once",
        { ...decided, outside: false },
      ],
      "JOB-34": [
        "A worker recovers expired leases in bulk, in their order, and starts no newer job more than 1 s before",
        { ...decided, outside: false },
      ],
    },
  ),

  section(
    "events",
    { package: "events", profile: "full" },
    {
      "EVT-1": "An event has an envelope of nine fields",
      "EVT-2": "Events go on the queue and, when configured, on the bus with the same envelope",
      "EVT-3": "A subscriber's job has its task name and the payload {topic, event}",
      "EVT-4": "The job id comes from event id and task, so publishing twice queues one job",
      "EVT-5": ["The task is <type>-><subscriber>, the id the first 32 hex of a SHA-256", decided],
      "EVT-6": ["Publishing with no subscriber and no bus is an error", { ...decided, outside: false }],
      "EVT-7": ["EventBus has adapters for Redis Streams and NATS JetStream", { ...decided, outside: false }],
      "EVT-8": ["The topic is prefix + event type; the wire is the envelope as JSON", decided],
      "EVT-9": [
        'An envelope always has request_id; tenant_id is "" and trace {} when there is none',
        decided,
      ],
      "EVT-10": ["A subscriber matches on the event type", { ...decided, outside: false }],
      "EVT-11": [
        "An event with an integer that JavaScript would round is refused",
        { ...decided, outside: false },
      ],
    },
  ),

  section(
    "outbox-and-inbox",
    { package: "events", profile: "full" },
    {
      "OUT-1": "Delivery is at least once",
      "OUT-2":
        "A consumer records (consumer, message_id) inside its work's transaction and skips what was there",
      "OUT-3": ["svc_inbox has consumer, message_id and processed_at", decided],
      "OUT-4": ["svc_outbox has fourteen fixed columns", decided],
      "OUT-5": ["The relay claims with skip-locked under a lease; order per key is kept", decided],
      "OUT-6": "Several relays and workers relay and consume every message once",
    },
  ),

  section(
    "scheduler",
    { package: "scheduler", profile: "full" },
    {
      "SCH-1": "Several replicas enqueue exactly once per tick",
      "SCH-2": ["Intervals are anchored at the Unix epoch, at least 1 s", { ...decided, outside: false }],
      "SCH-3": ["Cron has 5 fields in a zone", { ...decided, outside: false }],
      "SCH-4": ["Claiming a tick in svc_schedule_ticks and inserting its job are one statement", decided],
      "SCH-5": [
        "After downtime the newest missed tick fires once, or none with catchUp: false",
        { ...decided, outside: false },
      ],
    },
  ),

  section(
    "monthly-totals",
    { package: "rollups", status: "done", profile: "full" },
    {
      "ROLL-1": "One row per tenant, local month and group",
      "ROLL-2": "A bucket is recomputed from its rows, never adjusted by a delta",
      "ROLL-3": "Two refreshes of one bucket serialise on an advisory lock",
      "ROLL-4": "Months are local to a configured zone, half-open in UTC",
      "ROLL-5": ["One bucket can be refreshed, a range of dates rebuilt, for a tenant", { outside: false }],
      "ROLL-6": ["The key is unique over tenant, month and groups with nulls not distinct", decided],
      "ROLL-7": [
        "rebuild(from, to) takes local dates, both inclusive, widened to whole months",
        { ...decided, outside: false },
      ],
    },
  ),

  section(
    "search",
    { package: "search-store", status: "done", profile: "full", outside: false },
    {
      "SEARCH-1": "The tenant filter is always applied",
      "SEARCH-2": "Writes match rows by tenant_id",
      "SEARCH-3": "hnsw.ef_search is 100 by default",
      "SEARCH-4": ["ef_search is 1 to 1,000; the limit is 5 by default and at most 100", decided],
      "SEARCH-5": ["The score is 1 - cosine distance", decided],
      "SEARCH-6": ["A store call without a tenant is an error", decided],
    },
  ),

  section(
    "file-storage",
    { package: "storage", status: "planned", profile: "full", outside: false },
    {
      "STORE-1": "A listing larger than 1,000 keys follows continuation tokens up to its limit",
      "STORE-2": "A disk is a local folder or S3-compatible storage",
    },
  ),

  section(
    "model-calls",
    { package: "llm", status: "planned", profile: "full", outside: false },
    {
      "LLM-1": "A cost cap is never exceeded by concurrent calls: reserve atomically, roll back on refusal",
      "LLM-2": "A cap per tenant is kept the same way",
      "LLM-3": "A reservation is settled at the real cost",
    },
  ),

  section(
    "load-test-command",
    { package: "load-test", status: "planned", profile: "full" },
    {
      "LOAD-1": "The command reads /openapi.json and loads every GET that it can fill",
      "LOAD-2": ["Its flags pick routes, methods, clients, seconds, token and output", { outside: false }],
      "LOAD-3": ["A step breaks over --max-p99-ms (500) or --max-error-rate (1 %)", { outside: false }],
      "LOAD-4": [
        "Saturation is the step after which more clients bought under 10 % more",
        { outside: false },
      ],
      "LOAD-5": "After each step /ready is read and checks that are not ok are printed",
      "LOAD-6": [
        "Errors are 5xx, 429 and transport failures; 401 and 404 are non-2xx only",
        { outside: false },
      ],
    },
  ),

  section(
    "tracing",
    { package: "telemetry", status: "planned", profile: "full" },
    {
      "TRACE-1": "Tracing is inert until an endpoint is configured",
      "TRACE-2": ["The endpoint has a fixed precedence", { outside: false }],
      "TRACE-3": ["Export headers come from two variables, never from the file", { outside: false }],
      "TRACE-4": "The service name is app_name unless OTEL_SERVICE_NAME is set",
      "TRACE-5": "Without an endpoint one startup line says so and readiness says not exporting",
      "TRACE-6": ["[plugin.telemetry] has ten keys with fixed defaults", { outside: false }],
      "TRACE-7": "Every request has a server span named by method and route template",
      "TRACE-8": "Every SQL statement has a client span",
      "TRACE-9": ["Every call to another service has a client span", { package: "http-client" }],
      "TRACE-10": ["Every proxied call has a client span", { package: "gateway" }],
      "TRACE-11": ["llm.chat and llm.embed are client spans with usage and cost", { package: "llm" }],
      "TRACE-12": ["rag.ingest and rag.search are internal spans", { package: "search-store" }],
      "TRACE-13": "Jobs and event handlers are consumer spans that join the creating request's trace",
      "TRACE-14": "Every span has service.name, service.version and deployment.environment.name",
      "TRACE-15":
        "Prompts, documents, answers, queries, bodies, SQL parameters and raw paths are never recorded",
      "TRACE-16": "SQL text is recorded only with record_sql_statement",
      "TRACE-17": "Exceptions are recorded with type, message and stack",
      "TRACE-18": "Incoming requests continue the caller's trace",
      "TRACE-19": [
        "Outbound calls send the current span's traceparent and tracestate",
        { package: "http-client" },
      ],
      "TRACE-20": [
        "Jobs and events carry the creating request's trace context, tenant and request id",
        { package: "job-table" },
      ],
      "TRACE-21": "Failures of tracing never reach the request",
      "TRACE-22": "There is exactly one server span per request",
      "TRACE-23": "Readiness says not exporting, exporting with counts, or failing",
      "TRACE-24": "The endpoint shown has no user-info and no query",
      "TRACE-25": [
        "include_infra adds a collector and a trace viewer to the compose set",
        { package: "cli", outside: false },
      ],
      "TRACE-26": "String attributes are cut at 256 characters; only small scalars are kept",
      "TRACE-27": ["An export has 10.0 s, the flush at shutdown 5.0 s", { outside: false }],
      "TRACE-28": "The sample ratio is decided from the trace id; a parent's decision is kept",
      "TRACE-29": [
        "An endpoint without the optional package stops the start with the install command",
        { outside: false },
      ],
      "TRACE-30": "Tracing operations emit no events",
    },
  ),

  section(
    "gateway",
    { package: "gateway", status: "planned", profile: "full" },
    {
      "GW-1": "A gateway replaces the client's traceparent with its own span's",
      "GW-2": "With tracing off a gateway relays the client's traceparent untouched",
    },
  ),
];

export const rules: readonly Rule[] = [...delivered, ...planned].flat();
