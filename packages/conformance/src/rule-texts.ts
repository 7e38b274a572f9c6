// Written by scripts/rule-texts.mjs from docs/contract.md: change the text there.

/** The text of every rule by its id, as Markdown. */
export const ruleTexts: Readonly<Record<string, string>> = {
  "PROF-2":
    "When it authenticates, the reduced profile verifies tokens and does nothing else with them, in the modes `public_key` and `secret` only.",
  "PROF-3":
    "The reduced profile does not look up revocations: an access token that was revoked works there until it expires.",
  "PROF-4":
    "The reduced profile creates no spans; it passes an incoming trace context on to outbound calls unchanged.",
  "SYS-1":
    '`GET /health` answers 200 for as long as the process runs, with four strings. `env` is one of `local`, `dev`, `staging`, `prod`.\n\n```json\n{ "status": "ok", "service": "orders", "version": "1.4.0", "env": "prod" }\n```',
  "SYS-2": "`GET /health` calls no dependency; a database that is down does not change the answer.",
  "SYS-3":
    "`GET /ready` answers the readiness report: 200 while the service can serve (status `ok` or `degraded`), 503 when a critical dependency is down.",
  "SYS-4":
    "`/ready` decides whether traffic is routed to the process, never whether it is restarted: the liveness probe is `/health`, which stays 200 while `/ready` answers 503.",
  "SYS-5":
    '`GET /info` answers the version and what the service is made of; `providers` is a list of names, and each plugin is an object that has at least `name`.\n\n```json\n{\n  "service": "orders",\n  "version": "1.4.0",\n  "env": "dev",\n  "providers": [],\n  "plugins": [{ "name": "observability" }]\n}\n```',
  "SYS-6":
    "With `SVC_ENV` `prod` the route `/info` is not registered at all: the answer is the 404 problem of any unknown path.",
  "SYS-7": "`GET /metrics` answers the metrics of the service (section Metrics).",
  "SYS-8": "The bodies of these endpoints are JSON; the metrics text is the one exception.",
  "RDY-1":
    'The report has `status` (`ok` or `degraded`), `service` (its name) and `checks`, an object from the name of a check to its result.\n\n```json\n{\n  "status": "degraded",\n  "service": "orders",\n  "checks": {\n    "database": { "healthy": true, "status": "ok", "detail": "connected", "critical": true },\n    "cache": {\n      "healthy": false,\n      "status": "timeout",\n      "detail": "health check did not answer within 2.0s",\n      "critical": false\n    }\n  }\n}\n```',
  "RDY-2": "Every result has `healthy` (boolean), `detail` (string) and `critical` (boolean).",
  "RDY-3":
    "A result also has `status`, one of `ok`, `fail`, `timeout`, `error`, and may have an object `meta`.",
  "RDY-4":
    "A check with `healthy` false and `critical` false turns the report to `degraded`; the answer stays 200.",
  "RDY-5": "A check with `healthy` false and `critical` true turns the answer to 503.",
  "RDY-6":
    'The body of that 503 is the readiness report itself with `"status": "unavailable"`, not a problem document.',
  "RDY-7": "A check that runs out of time or throws counts with the criticality that it was declared with.",
  "RDY-8": "All checks start together; each has `readiness_timeout` seconds (2.0 by default).",
  "RDY-9": "Calls of `/ready` that arrive while the checks run wait for that run and share its outcome.",
  "RDY-10": "An outcome may be answered again for at most 1 second.",
  "RDY-11":
    "A check that runs out of time has the detail `health check did not answer within 2.0s` (the number is the timeout, with one decimal).",
  "RDY-12":
    "A check that throws has the detail `health check raised: <class>` with the name of the error's class and no part of its message: no connection string, user-info or password can leak.",
  "RDY-13": "The check of the database is critical.",
  "RDY-14":
    "The check of authentication is critical only when no key was ever fetched. It reports the known state: it neither fetches nor waits.",
  "RDY-16": "The check of the cache is never critical.",
  "RDY-18": "Metrics never make readiness critical.",
  "RDY-20":
    'From SIGTERM on `/ready` answers 503 with status `unavailable` and this check:\n\n```json\n{ "shutdown": { "healthy": false, "status": "fail", "detail": "shutting down", "critical": true } }\n```',
  "RDY-21": "While the service drains, `/health` continues to answer 200 until the process ends.",
  "RDY-22":
    "When the shared revocation store stops answering and the service fails open (the default), authentication is reported as degraded and tokens are accepted without the check.",
  "RDY-23":
    "When the token store is the memory of the process, because the cache component is off, the check is healthy and not critical, and its detail says that revocation neither survives a restart nor reaches other replicas.",
  "RDY-24":
    "When the key-set endpoint cannot be reached and keys are cached, the report is degraded, the cached keys still verify tokens, and the report gives their age.",
  "RDY-25":
    "In `jwks` mode a service that never fetched a key is critically unready: it cannot verify any token.",
  "COR-1": "An incoming `X-Request-ID` is the id of the request.",
  "COR-2": "A request without an id gets a new one.",
  "COR-3": "The response carries the id in `X-Request-ID`.",
  "COR-4": "Every log line written within the request has the id as `request_id`.",
  "COR-5": "Outbound calls of the request carry the id.",
  "COR-6": "A caller's id is used only when it has 1 to 128 characters of visible ASCII (`!` to `~`).",
  "COR-7":
    "Any other id, and a header that is sent twice, is replaced by a new id. The request is never refused for it, and the bad value is neither echoed nor written raw to a log.",
  "COR-8": "A new id has 32 lowercase hexadecimal characters.",
  "COR-9": "`traceparent` and `tracestate` of W3C Trace Context are read from the request.",
  "COR-10":
    "A `traceparent` is valid only when its version is `00`, it is lowercase hex throughout, its trace id has 32 digits that are not all zero, its parent id 16 digits that are not all zero, and its flags 2 digits.",
  "COR-11": "An invalid `traceparent` is ignored, and so is the `tracestate` that comes with it.",
  "COR-12": "The trace id of a valid `traceparent` is logged as `trace_id`.",
  "COR-13": "Outbound calls carry the trace context.",
  "COR-15": "A service that exports no spans sends the caller's trace context unchanged.",
  "ERR-1":
    "Every failure, an uncaught exception included, is answered by a problem document (RFC 7807) with content type `application/problem+json`.",
  "ERR-2":
    "A problem has these members:\n\n| Member       | Type          | Value                                        |\n| ------------ | ------------- | -------------------------------------------- |\n| `type`       | URI reference | `about:blank` unless the error names another |\n| `title`      | string        | the status phrase                            |\n| `status`     | integer       | the status code                              |\n| `detail`     | string        | an explanation for a person                  |\n| `instance`   | string        | the path of the request                      |\n| `request_id` | string        | the id of the failed request                 |",
  "ERR-3":
    "`title` is always the phrase of RFC 9110 for the status, the same on every version of Node: 413 is `Payload Too Large`, 422 is `Unprocessable Entity`.",
  "ERR-4": "`instance` is the path only; the query is left out.",
  "ERR-5":
    "`request_id` is in every error body, those of 404, 405, 413, 415, 422, 429, 503 and 504 and of errors before routing included.",
  "ERR-6": "Members that an error adds are top-level members of the problem, not members of a nested object.",
  "ERR-7":
    "An uncaught exception answers 500. Its `detail` does not reveal the cause unless `SVC_DEBUG` is true.",
  "ERR-8":
    "That neutral detail is `An unexpected error occurred`. The exception is logged with its stack at level error.",
  "ERR-9": "A path that exists, but not for this method, answers 405.",
  "ERR-10": "The 405 is a problem whose `Allow` header lists the methods of that path.",
  "ERR-11": "A path that does not exist answers a 404 problem.",
  "ERR-12":
    "The 401 problem has title `Unauthorized`, detail `authentication required` and the header `WWW-Authenticate: Bearer`; only the log says why a token failed.",
  "ERR-13":
    'A caller without the needed scopes gets 403 with the detail `missing scope(s): a, b` and the member `missing_scopes: ["a", "b"]`, both sorted.',
  "ERR-14": "A caller without any of the needed roles gets 403 with the detail `requires one of: x, y`.",
  "ERR-15": "A body that fails validation answers 422.",
  "ERR-16":
    'The 422 has the detail `Request validation failed` and the member `errors`, a list of `{ "type", "loc": [...], "msg", "input"? }`; `loc` is the path to the value.',
  "ERR-17": "`input` is made safe for JSON and cut at 512 characters.",
  "ERR-18":
    "A body of the wrong content type answers 415. Where a route names no types, that is a body that no parser of the route accepts: the 415 comes when the handler reads `req.body`. A route that reads the body itself, with a parser of its own or as a stream, gets a body of any type.",
  "ERR-19": "A body that is not JSON answers 400; the detail names the position and does not quote the body.",
  "ERR-21":
    "A failure before any route or middleware, such as a request that cannot be parsed, is also answered by a problem with a request id.",
  "LIM-1": "A body of more than `max_body_bytes` (2 MiB by default) answers 413.",
  "LIM-2": "When `Content-Length` is over the limit, the 413 comes before any byte of the body is read.",
  "LIM-3": "A chunked body is counted while it arrives and refused as soon as it is over the limit.",
  "LIM-4": "A request that takes longer than the request timeout (30 s by default) answers 504.",
  "LIM-5":
    "The 504 is sent only while no byte of a response was sent; a response that has begun is left alone.",
  "PORT-2": "HTTP listens on the first of them.",
  "PORT-4": "The demo's own PostgreSQL listens on `SVC_PORT` + 1.",
  "PORT-7": "The demo's own Redis listens on `SVC_PORT` + 3.",
  "ENV-1": "`SVC_APP_NAME` is the name of the service; logs and metrics carry it.",
  "ENV-2": "`SVC_ENV` is `local`, `dev`, `staging` or `prod`; any other value is a fault.",
  "ENV-3": "`SVC_PORT` is the HTTP port and the base of the block of ports.",
  "ENV-4": "`SVC_DEBUG` says whether clients may see internal detail of errors.",
  "ENV-5": "`SVC_LOG_JSON_LOGS` switches the structured log format on or off.",
  "LOG-1": "Every log entry is one JSON object on one line of standard output.",
  "LOG-2": "It has at least `service`, `env`, `level` and `message`, and inside a request `request_id`.",
  "LOG-3":
    "The access line has the message `request` and `http_method`, `http_path`, `http_status` and `duration_ms`.",
  "LOG-4": "The access line also has `trace_id` and `tenant_id` when there are any.",
  "LOG-6": "With `SVC_LOG_JSON_LOGS` false the lines are readable text instead.",
  "MET-1": "`/metrics` is the Prometheus text format, `text/plain; version=0.0.4`.",
  "MET-2": "It is OpenMetrics only for a request whose `Accept` asks for that.",
  "MET-3": "`http_requests_total` has the labels `method`, `endpoint`, `status`.",
  "MET-4": "`http_request_duration_seconds` has the labels `method`, `endpoint`.",
  "MET-5": "`http_requests_in_progress` has the label `method`.",
  "MET-6": "`service_info` has the labels `service`, `version`.",
  "MET-7": "The usual metrics of the process are exported too.",
  "MET-8": "`endpoint` is the template of the route, with the prefix that it is mounted under.",
  "MET-9": "A request that matches no route has the endpoint `<unmatched>`.",
  "MET-10": "The raw path is never a label.",
  "EDGE-1":
    "`X-Forwarded-*` headers count only when the peer that sent them is in `[service] trusted_proxies`, which is empty by default.",
  "EDGE-2": "A chain of addresses is read from the right and ends at the first one that is not trusted.",
  "EDGE-3":
    "`[service] trusted_hosts` lists the hosts that the service answers for; an empty list, the default, means any host.",
  "EDGE-4": "CORS is off until `[service.cors] origins` names origins.",
  "EDGE-6":
    "With `security_headers` (true by default) responses that serve HTML carry the full set of helmet.",
  "EDGE-7":
    "JSON responses then carry the no-sniff, frame and referrer headers and a content policy that allows nothing.",
  "ROUTE-2":
    "One of them moves to the front again when an application route would take its path: a catch-all, or a route on the same path for another method (a PUT, say, that would answer a POST with its own 405).",
  "VER-1": "A service reports its own version in `version` of `/health` and in `/info`.",
  "VER-2":
    "An implementation in any language has all of these: system endpoints, correlation, errors, configuration, ports and logs.",
  "VER-4": "An implementation that authenticates keeps every rule of authentication.",
  "AUTH-1":
    "A service authenticates no caller until authentication is switched on. Then it verifies JWT bearer tokens, resolves the tenant and answers 401 or 403 by the rules below.",
  "AUTH-2":
    "Three modes say where the key comes from. The full profile's default is `jwks`.\n\n| Mode         | Key                                   | For                                         |\n| ------------ | ------------------------------------- | ------------------------------------------- |\n| `jwks`       | fetched from the issuer's key-set URL | more than one service                       |\n| `public_key` | one PEM that is pinned                | one issuer, nothing fetched                 |\n| `secret`     | a shared HMAC secret                  | a single service that issues its own tokens |",
  "AUTH-3":
    'The allowed algorithms come from `algorithms` (`["RS256"]` by default) and are passed to the decoder; the token\'s `alg` decides nothing.',
  "AUTH-4": "`none` is never allowed and cannot be configured.",
  "AUTH-6":
    "A configured issuer makes `iss` required and compared; a configured audience does the same for `aud`.",
  "AUTH-8": "`exp`, `nbf` and `iat` have a leeway of 30 seconds (`SVC_AUTH_LEEWAY`).",
  "AUTH-9": "`exp`, `iat` and `sub` must be there.",
  "AUTH-10": "A token with `typ` `refresh` is never a bearer token.",
  "AUTH-11": "Only the log says why a token failed; the client gets a 401 without a reason.",
  "AUTH-12": "On an open route a bad token counts as no token: the request continues without a caller.",
  "AUTH-13":
    "401 means that the request has no verified caller, so a client refreshes its session. 403 means that the caller lacks the scope, the role or the tenant, so a client gives up; it names missing scopes.",
  "AUTH-14": "`requireAuth` admits any verified caller.",
  "AUTH-15": "`requireScopes(a, b)` admits a caller who holds every listed scope.",
  "AUTH-16": "`requireRoles(a, b)` admits a caller who holds one of the listed roles or more.",
  "AUTH-17": "A mixed route serves requests with and without a caller.",
  "AUTH-20": "A token is at most 8 KiB long.",
  "AUTH-21":
    "Its parts are canonical base64url, without padding or white space, of valid UTF-8 without a byte order mark.",
  "AUTH-22": "A `kid` has at most 256 characters.",
  "AUTH-23": "Dates are finite numbers from 0 to 8.64e12.",
  "AUTH-24": "A token with a `crit` header is refused.",
  "AUTH-25": "An RSA key has at least 2,048 bits.",
  "AUTH-26":
    "Known algorithms are RS256, RS384, RS512, PS256, PS384, PS512, ES256, ES384, ES512, EdDSA (Ed25519), HS256, HS384 and HS512. The key's type and curve must fit the algorithm.",
  "AUTH-27": "The scope and the roles claim may be a string with spaces between or a list.",
  "AUTH-28":
    "`sub` is a string that is not empty; `jti`, `iss`, `fam` and `kid` are strings when present; `aud` is a string or a list of strings; `exp`, `iat` and `nbf` are numbers whose fraction is cut off.",
  "AUTH-29": "An `iat` after now + leeway is refused.",
  "AUTH-30": "A token is expired when `exp` <= now - leeway.",
  "AUTH-33":
    "A token is read from the `Authorization` header only, unless the application supplies `tokenFrom(req)` (for a `__Host-` cookie that is HttpOnly, say).",
  "AUTH-34":
    "Where `tokenFrom` is used, a request with an unsafe method needs a `Sec-Fetch-Site` or `Origin` of the same origin; otherwise it gets 403.",
  "AUTH-39":
    "A tenant id has 1 to 255 characters, counted as Unicode code points, and is not only white space. A tenant id, `sub`, `jti` and `fam` have no control characters (U+0000 to U+001F, U+007F to U+009F) and no lone surrogates. A token with any other value there is refused as any bad token is.",
  "CLAIM-1": "The names of the scope, roles and tenant claims are configurable (AUTH-38).",
  "CLAIM-2": "`jti` is the id of the token; a revocation of a single token names it.",
  "CLAIM-3":
    "`fam` is the id of the session family: random, new at each login, the same on both tokens of a pair, absent on tokens of an outside issuer.",
  "CLAIM-4": "`typ` `refresh` marks a refresh token.",
  "CLAIM-5":
    "`grt` is written by this issuer alone, on refresh tokens: the rights that the session was opened with. No service reads it to decide what a request may do.",
  "CLAIM-6": "The header `kid` says which key verifies the token in `jwks` mode.",
  "CLAIM-7": "A principal read from a refresh token has no scopes.",
  "CLAIM-8": "A principal contains subject, scopes, roles and tenant.",
  "KEY-1": "A `kid` that no cached key has triggers a refresh of the key set, once a minute at most.",
  "KEY-2":
    "An issuer rotates by publishing a new key and signing with it; services fetch it at the first token that names it.",
  "KEY-3": "The old key stays in the set until the last token signed with it has expired.",
  "KEY-4": "While the endpoint cannot be reached, the cached keys still verify tokens.",
  "KEY-5":
    "Requests that wait for a fetch that fails all fail with it: an outage costs the issuer one request.",
  "KEY-6":
    "`jwks_timeout` bounds a fetch with all its tries, `jwks_attempts` is the number of tries (reference values 5.0 s and 2).",
  "KEY-7": "Only 429, 5xx and network errors are retried.",
  "KEY-8":
    "A try that timed out counts as a network error. The delay before a retry is 0.2 to 1.0 s, drawn with full jitter.",
  "KEY-9":
    "After `jwks_breaker_failures` failed refreshes in a row (3) the issuer is not called for `jwks_breaker_cool_down` seconds (30.0); the cached keys are served.",
  "KEY-10": "After that time one trial request may be sent.",
  "KEY-11": "A token without `kid` is verified only when the set holds exactly one usable key.",
  "KEY-12": "Keys with `use` `enc`, with an `alg` that is not allowed, or with `kty` `oct` are ignored.",
  "KEY-13": "No more than 1 MiB of a key set is read.",
  "KEY-15": "One fetch runs at a time; all waiting requests share its result.",
  "ISS-1":
    "The packages have no login route and no user records: comparing passwords is the application's work, and its login route calls the issuer.",
  "ISS-3": "Each login starts a random session family, carried by both tokens as `fam`.",
  "ISS-4": "An access token lives 15 minutes, a refresh token 30 days.",
  "ISS-5":
    "`POST /auth/logout`, called with a bearer token, revokes its `jti` and, if it has `fam`, the whole family.",
  "ISS-6": "Without `fam` only the `jti` is revoked.",
  "ISS-7": "Other sessions of the same person stay valid.",
  "ISS-8":
    "Logout answers 204 with an empty body, also for a token with neither `jti` nor `fam`, where there is no id to revoke.",
  "ISS-9":
    '`GET /auth/me` answers `{"subject", "tenant_id", "scopes", "roles", "token_id"}` with both lists sorted.',
  "ISS-10":
    "Tokens are written with `sub`, `jti` (32 hex), `iat`, `nbf`, `exp`, `typ` (`access` or `refresh`), `fam`, `auth_time`, the tenant claim, scope (a string with spaces), roles (a list), and `iss` and `aud` when configured. `auth_time` is when the person signed in; a refresh keeps it; a reader takes `iat` where it is missing.",
  "ISS-11": 'A refresh token has `grt: {"scopes", "roles"}` and neither a scope nor a roles claim.',
  "ISS-12": "Tokens signed with an asymmetric key always have the header `kid`.",
  "ISS-14": "The signing key may be HMAC, RSA, EC or Ed25519.",
  "ISS-15": "With an asymmetric key the service publishes `GET /.well-known/jwks.json`.",
  "ISS-17": "A logout while the store is down answers a 503 problem.",
  "ISS-18": "Signing in, refreshing and logging out emit no events.",
  "ISS-19": "The component can revoke single tokens and whole sessions.",
  "REV-1": "An entry is kept under a token's `jti` or under a family.",
  "REV-2":
    "It is kept only as long as the token or session could still be valid; afterwards the expiry date alone refuses the token.",
  "REV-3":
    "With the cache component the store is shared and a logout reaches every replica; without it the store is the process's memory.",
  "REV-4":
    "With `revocation_fail_open` true (the default) a store that does not answer means that tokens pass unchecked, with a warning every 10 s at most and auth degraded (RDY-22).",
  "REV-5": "With it false every authenticated request answers 503 until the store answers again.",
  "REV-6":
    "That 503 comes for any request with an otherwise valid bearer token, on open routes too: title `Service Unavailable`, detail `the revocation store is not answering; retry shortly`, with `Retry-After`.",
  "REV-7": "A command to the store has 1 second.",
  "REV-8": "A store that does not answer is not called for a while.",
  "REV-9": "A `jti` is kept until `exp` + leeway, a family for the full refresh lifetime + leeway.",
  "REV-10":
    "`revokeSubject(sub, notBefore)` signs a person out everywhere: it compares `auth_time`, and its entry lives for the full refresh lifetime. Without `notBefore` it ends every session that has begun, and no session that begins later: the store's clock dates sign-ins and sign-outs, not the replicas' clocks.",
  "REV-11": "After a logout on one replica every other one refuses both tokens of the pair.",
  "REF-1":
    '`POST /auth/refresh` takes `{"refresh_token": "..."}` and answers a new pair; the presented token is used up.',
  "REF-2":
    'The answer is 200 with `Cache-Control: no-store`; `expires_in` are the seconds of the access token.\n\n```json\n{ "access_token": "...", "refresh_token": "...", "token_type": "Bearer", "expires_in": 900 }\n```',
  "REF-3": "The new access token has the rights that `grt` of the refresh token holds.",
  "REF-4":
    "A token presented for the first time is rotated (`rotated`): it is invalidated, a new pair is issued, and only the request that won writes the mark that it was just rotated.",
  "REF-5":
    "A token that was replaced within the window (`raced`) gets 401 and nothing is revoked; the winner's pair stays valid. The window never issues anything.",
  "REF-6":
    "A used token presented after the window (`replayed`) revokes the family for the full refresh lifetime and gets 401.",
  "REF-7":
    "The store keeps the window: consuming and marking are one atomic step; a replay may read the mark but neither sets nor extends it, so repeated use of the token does not keep the window open.",
  "REF-8":
    "That one step also checks that the family is not revoked, and no token is made before the step reports `rotated`.",
  "REF-10":
    "When it returns nothing, the family is revoked and the access token in hand stops verifying at once.",
  "REF-11":
    "It runs before the token is consumed; when it raises, nothing is consumed, the answer is 500, and the client can simply try again.",
  "REF-12": "A refresh token from before `grt` existed gets 401.",
  "REF-13":
    "Each refusal is a 401 problem with one of these details (the only 401s that tell a reason):\n\n| Detail                                                  | When                                        |\n| ------------------------------------------------------- | ------------------------------------------- |\n| `invalid refresh token`                                 | it does not verify                          |\n| `an access token cannot be used to refresh`             | `typ` is not `refresh`                      |\n| `refresh token has no id`                               | no `jti`                                    |\n| `refresh token carries no session family`               | no `fam`                                    |\n| `this refresh token predates scope-preserving rotation` | no `grt`, with or without a hook            |\n| `this session has been revoked`                         | the family is revoked                       |\n| `this refresh token has already been rotated`           | raced                                       |\n| `this session is no longer valid`                       | declined by the hook; the family is revoked |",
  "REF-14": "The window is `refresh_grace_seconds`: 10 by default; 0 detects every reuse.",
  "REF-15":
    "`session_lifetime_days` (0 by default: no end) bounds a session as a whole; afterwards a refresh gets 401 `this session is no longer valid`, and no token of it has an `exp` that is later. A README recommends 90.",
  "REF-16": "After a hook the scopes are those of its Grant and the roles those of `grt`.",
  "REF-17": "While the store is down a refresh answers 503 and consumes nothing, failing open or not.",
  "REF-19": "One token sent to two replicas at the same moment is rotated once.",
  "OIDC-1":
    "For each configured provider there are `GET /auth/<provider>/start` and `GET /auth/<provider>/callback`.",
  "OIDC-2": "Start redirects to the provider's authorization endpoint.",
  "OIDC-3": "The redirect is a 302 with state, nonce and PKCE (S256), for every provider.",
  "OIDC-4":
    "Start sets a cookie with state and nonce: HttpOnly, SameSite=Lax, and Secure outside development.",
  "OIDC-5":
    "Each attempt has a cookie of its own: `__Host-svc_login_<h>` where it is Secure, `svc_login_<h>` in `local` and `dev`, `<h>` being the first 16 base64url characters of the SHA-256 of the state. Path `/`, 600 s, at most 5 live ones.",
  "OIDC-6":
    "Its content `{provider, state, nonce, verifier, return_to, issued_at}` is encrypted and authenticated with a key derived from configuration.",
  "OIDC-7": "It is deleted on success and on failure; two tabs can sign in at once.",
  "OIDC-8":
    "`return_to` is a path of this site (`/x`): never `//x`, never one with `\\`, a scheme or a host.",
  "OIDC-9":
    "The callback compares `aud` with `client_id`, `iss` with the provider, `state` with the cookie's, `nonce` of the ID token with the cookie's, and verifies the signature with the provider's keys.",
  "OIDC-10":
    "Then it calls the application's handler `(identity, request)`, which returns the application's own token.",
  "OIDC-11": "With no handler the callback answers 500 and names the missing handler.",
  "OIDC-12":
    "Refusals: an unknown provider 404; no login or an expired one, a wrong state or provider, an error of the provider, a bad ID token 401; a provider or key set out of reach 503.",
  "OIDC-13": "`iss` of RFC 9207 is compared when the response has it.",
  "OIDC-14":
    "When the handler has sent a response itself, no other is sent; any other value is answered as 200 JSON.",
  "OIDC-16":
    "Built in are `google`, `microsoft` (the issuer's template is filled per directory; directories may be restricted to a list) and `github` (OAuth 2.0 without ID tokens).",
  "OIDC-17":
    "For a provider without ID tokens the ID-token verification refuses; asking for the user's data is the application's call.",
  "TEN-1":
    "A tenant comes from the sources that are listed, in order of trust: `token`, `user`, `subdomain`, `path`, `header`. The default is `token`, `subdomain`.",
  "TEN-2": "The source `subdomain` needs a base domain.",
  "TEN-3":
    "With `require_tenant` a request that resolves to no tenant gets 403; `/health`, `/ready` and similar paths (TEN-16) are exempt.",
  "TEN-4": "A signed claim outranks every value that the client is free to choose.",
  "TEN-5":
    "`X-Tenant-ID` is a source only where `header` is listed. Otherwise it is ignored, for anonymous requests too, and only the access log shows it, as `tenant_claimed`.",
  "TEN-6":
    "With authentication on, subdomain, path and header only name a tenant and the caller must back it: the answer is 401 without a session, 403 with another tenant in the token and 403 with a token that has no tenant.",
  "TEN-7":
    "`trust_unscoped_principals` lifts the last of these: a caller whose token has no tenant acts in the named one, and the service checks membership itself.",
  "TEN-8": "A signed source outranks an unsigned one in any order of the list.",
  "TEN-9": "Without authentication the first source that yields a tenant wins.",
  "TEN-10": "`requireTenant` admits only requests with a resolved tenant.",
  "TEN-12": "A slug matches `^[a-z0-9][a-z0-9-]{0,62}$`.",
  "TEN-13":
    "In a host in lowercase, without its port and trailing dot, exactly one label before the base domain is the tenant; `www api app admin static assets cdn mail ftp localhost` are not tenants.",
  "TEN-14": "The source `path` is the prefix `/t/<slug>/...`; the prefix can be configured.",
  "TEN-15":
    "The source `user` is the verified subject, if it matches `^[A-Za-z0-9][A-Za-z0-9_.:@|-]{0,127}$`.",
  "TEN-16":
    "Exempt from `require_tenant` are `/health`, `/ready`, `/info`, `/metrics`, `/docs`, `/openapi.json`, `/.well-known/*`, `POST /auth/refresh`, `/auth/<provider>/start` and `/auth/<provider>/callback`, compared by whole segments; `exempt_paths` adds more.",
  "TEN-17":
    "A request that names a tenant and has no grant for it is refused: 403, or 401 without a session.",
  "TEN-18": "The guard `requestedTenant()` answers 404 when the request names no tenant.",
  "TEN-19":
    "The 403 details are `this session is scoped to tenant 'a', and the request names 'b'`; `this account is not scoped to tenant 'b': its token carries no tenant`; `this request is not scoped to a tenant`.",
  "TEN-20":
    "In logs `tenant_id` is the tenant that was granted, `tenant_claimed` one that was only named, cut at 128 characters.",
};
