import type { Mutants } from "./mutant.ts";

/**
 * Mutants of the rules on system endpoints, readiness, correlation, errors, limits, logs, metrics, the network edge, rate limits
 * and route descriptions.
 */
export const edge: Mutants = {
  "SYS-1": {
    file: "packages/health/src/health.ts",
    find: 'JSON.stringify({ status: "ok", service, version, env })',
    replace: 'JSON.stringify({ status: "ok", service, version })',
  },
  "SYS-2": {
    file: "packages/health/src/health.ts",
    find: "health: healthHandler(resolved),",
    replace:
      "health: (req, res, next) => { void readiness.answer(); healthHandler(resolved)(req, res, next); },",
  },
  "SYS-3": {
    file: "packages/health/src/readiness.ts",
    find: 'report.status === "unavailable" ? 503 : 200',
    replace: 'report.status === "unavailable" ? 500 as never : 200',
  },
  "SYS-4": {
    file: "packages/health/src/health.ts",
    find: "health: healthHandler(resolved),",
    replace: "health: readyHandler(readiness),",
  },
  "SYS-5": {
    file: "packages/health/src/health.ts",
    find: '? listFrom("plugins", plugins) : plugins',
    replace: '? listFrom("plugins", plugins).map(({ name }) => name) : plugins.map(({ name }) => name)',
  },
  "SYS-6": {
    file: "packages/health/src/health.ts",
    find: 'const hasInfo = resolved.info && resolved.env !== "prod"',
    replace: "const hasInfo = resolved.info",
  },
  "SYS-7": { file: "packages/metrics/src/metrics.ts", find: "res.end(body);", replace: "res.end();" },
  "SYS-8": {
    file: "packages/problem/src/send.ts",
    find: 'start(req, res, status, "application/json", body.length);',
    replace: 'start(req, res, status, "text/json", body.length);',
  },
  "RDY-1": {
    file: "packages/health/src/report.ts",
    find: "return { status, service, checks: Object.fromEntries(checks) };",
    replace: "return { status, service, checks: {} };",
  },
  "RDY-2": {
    file: "packages/health/src/probe.ts",
    find: 'const report = { healthy, status: healthy ? "ok" : "fail", detail: safeText(detail), critical } as const;',
    replace: 'const report = { healthy, status: healthy ? "ok" : "fail", detail: "", critical } as const;',
  },
  "RDY-3": {
    file: "packages/health/src/probe.ts",
    find: "return shown === undefined ? report : { ...report, meta: shown };",
    replace: "return report;",
  },
  "RDY-4": {
    file: "packages/health/src/report.ts",
    find: 'else if (status === "ok") status = "degraded";',
    replace: "",
  },
  "RDY-5": {
    file: "packages/health/src/report.ts",
    find: 'if (critical) status = "unavailable";',
    replace: 'if (critical) status = "degraded";',
  },
  "RDY-6": {
    file: "packages/health/src/report.ts",
    find: 'if (critical) status = "unavailable";',
    replace: 'if (critical) status = "degraded";',
  },
  "RDY-7": {
    file: "packages/health/src/probe.ts",
    find: "return late?.aborted === true ? timedOut : reportOfThrown(thrown, critical);",
    replace:
      "return late?.aborted === true ? { ...timedOut, critical: true } : reportOfThrown(thrown, true);",
  },
  "RDY-8": {
    file: "packages/health/src/readiness.ts",
    find: "const reports = await Promise.all(probes.map(async (each) => [each.name, await each.run()] as const));",
    replace:
      'const reports: [string, Awaited<ReturnType<Probe["run"]>>][] = []; for (const each of probes) reports.push([each.name, await each.run()]);',
  },
  "RDY-9": {
    file: "packages/health/src/readiness.ts",
    find: "  const checked = remember(\n    reuseMs,\n    async () => {",
    replace:
      "  const checked = ((_ms: number, run: () => Promise<Answer>, _clock: object) => run)(\n    reuseMs,\n    async () => {",
  },
  "RDY-10": {
    file: "packages/health/src/readiness.ts",
    find: "    { now },\n",
    replace: "    { now: () => 0 },\n",
  },
  "RDY-11": {
    file: "packages/health/src/probe.ts",
    find: "Number.isInteger(seconds) ? seconds.toFixed(1) : seconds",
    replace: "seconds",
  },
  "RDY-12": {
    file: "packages/health/src/probe.ts",
    find: "`health check raised: ${classOf(thrown)}`",
    replace: "`health check raised: ${String(thrown)}`",
  },
  "RDY-18": { file: "packages/metrics/src/metrics.ts", find: "critical: false,", replace: "critical: true," },
  "RDY-20": {
    file: "packages/health/src/report.ts",
    find: '["shutdown", "shutting down"]',
    replace: '["shutdown", "stopping"]',
  },
  "RDY-21": {
    file: "packages/health/src/health.ts",
    find: "health: healthHandler(resolved),",
    replace: "health: readyHandler(readiness),",
  },
  "COR-1": {
    file: "packages/request-id/src/request-id.ts",
    find: "if (isRequestId(given)) context.requestId = given;",
    replace: "",
  },
  "COR-2": {
    file: "packages/request-id/src/request-id.ts",
    find: 'if (context.requestId === "") context.requestId = newId();',
    replace: "",
  },
  "COR-3": {
    file: "packages/request-id/src/request-id.ts",
    find: 'if (!res.headersSent) setCheckedHeader(res, "x-request-id", "X-Request-ID", id);',
    replace: "",
  },
  "COR-4": [
    {
      file: "packages/log/src/context-fields.ts",
      find: 'if (context !== undefined && context.requestId !== "") fields["request_id"] = context.requestId;',
      replace: "",
    },
    {
      file: "packages/log/src/context-fields.ts",
      find: 'let json = id === "" ? "" : `,"request_id":${quote(id)}`;',
      replace: 'let json = "";',
    },
  ],
  "COR-5": {
    file: "packages/request-id/src/propagation-headers.ts",
    find: 'if (context !== undefined && context.requestId !== "") headers["X-Request-ID"] = context.requestId;',
    replace: "",
  },
  "COR-6": {
    file: "packages/context/src/request-ids.ts",
    find: "const MAX_LENGTH = 128;",
    replace: "const MAX_LENGTH = 129;",
  },
  "COR-7": {
    file: "packages/request-id/src/request-id.ts",
    find: "if (isRequestId(given)) context.requestId = given;",
    replace: 'if (typeof given === "string") context.requestId = given;',
  },
  "COR-8": {
    file: "packages/context/src/request-ids.ts",
    find: "return hex.slice(start, next);",
    replace: "return hex.slice(start, next).toUpperCase();",
  },
  "COR-9": {
    file: "packages/context/src/trace-headers.ts",
    find: 'typeof tracestate === "string" ? tracestate : undefined',
    replace: "undefined",
  },
  "COR-10": {
    file: "packages/context/src/trace-context.ts",
    find: 'value.startsWith("00-") &&',
    replace: "",
  },
  "COR-11": {
    file: "packages/context/src/trace-context.ts",
    find: "!isZero(value, 36, 52)",
    replace: "true",
  },
  "COR-12": {
    file: "packages/log/src/context-fields.ts",
    find: 'if (trace !== undefined) fields["trace_id"] = trace.traceId;',
    replace: "",
  },
  "COR-13": {
    file: "packages/request-id/src/propagation-headers.ts",
    find: 'headers["traceparent"] = trace.traceparent;',
    replace: "",
  },
  "COR-15": {
    file: "packages/request-id/src/propagation-headers.ts",
    find: 'headers["tracestate"] = trace.tracestate;',
    replace: 'headers["tracestate"] = trace.tracestate.toUpperCase();',
  },
  "ERR-1": {
    file: "packages/problem/src/send.ts",
    find: '"application/problem+json"',
    replace: '"application/json"',
  },
  "ERR-2": {
    file: "packages/problem/src/document.ts",
    find: '"about:blank"\'',
    replace: '"https://example.com/problem"\'',
  },
  "ERR-3": {
    file: "packages/problem/src/statuses.ts",
    find: '422: ["Unprocessable Entity"',
    replace: '422: ["Unprocessable Content"',
  },
  "ERR-4": {
    file: "packages/context/src/request-path.ts",
    find: "if (code === QUESTION_MARK || code === HASH) break;",
    replace: "",
  },
  "ERR-5": {
    file: "packages/problem/src/document.ts",
    find: '`"request_id":${JSON.stringify(requestId)}`',
    replace: '`"request_id":""`',
  },
  "ERR-6": {
    file: "packages/problem/src/document.ts",
    find: "text += `,${JSON.stringify(name)}:${value}`",
    replace: 'text += `,"extensions":{${JSON.stringify(name)}:${value}}`',
  },
  "ERR-7": {
    file: "packages/problem/src/foreign-error.ts",
    find: "const message = debug ? messageOf(error) : GENERIC_DETAIL;",
    replace: "const message = messageOf(error);",
  },
  "ERR-8": {
    file: "packages/problem/src/problem-handler.ts",
    find: 'write(log, "error", error, req, problem.status, "a request failed");',
    replace: 'write(log, "debug", error, req, problem.status, "a request failed");',
  },
  "ERR-9": {
    file: "packages/problem/src/not-found.ts",
    find: "next === undefined) sendNotAllowed(req, res, allow);",
    replace: "next === undefined) sendProblem(req, res, NOT_FOUND);",
  },
  "ERR-10": {
    file: "packages/problem/src/not-found.ts",
    find: "headers: { Allow: allow }",
    replace: 'headers: { Allow: "GET" }',
  },
  "ERR-11": {
    file: "packages/problem/src/not-found.ts",
    find: "const NOT_FOUND = { status: 404,",
    replace: "const NOT_FOUND = { status: 410,",
  },
  "ERR-12": {
    file: "packages/problem/src/statuses.ts",
    find: 'return "authentication required";',
    replace: 'return "no valid token";',
  },
  "ERR-13": {
    file: "packages/problem/src/problems.ts",
    find: "extensions: { missing_scopes: sorted },",
    replace: "extensions: {},",
  },
  "ERR-14": {
    file: "packages/problem/src/problems.ts",
    find: '`requires one of: ${oneOf.join(", ")}`',
    replace: '`requires one of: ${oneOf.join(" ")}`',
  },
  "ERR-15": {
    file: "packages/problem/src/problems.ts",
    find: 'new ProblemError(422, "Request validation failed"',
    replace: 'new ProblemError(400, "Request validation failed"',
  },
  "ERR-16": {
    file: "packages/problem/src/problems.ts",
    find: "msg: String(issue.msg),",
    replace: "message: String(issue.msg),",
  },
  "ERR-17": {
    file: "packages/problem/src/json-safe.ts",
    find: "export const MAX_TEXT = 512;",
    replace: "export const MAX_TEXT = 1024;",
  },
  "ERR-18": [
    {
      file: "packages/json-body/src/faults.ts",
      find: "new ProblemError(415, detail",
      replace: "new ProblemError(400, detail",
    },
    { file: "packages/express/src/edge.ts", find: 'otherTypes: "refuse"', replace: 'otherTypes: "leave"' },
  ],
  "ERR-19": {
    file: "packages/json-body/src/parse-json.ts",
    find: "`the body is not valid JSON at ${place(text)}`",
    replace: "`the body is not valid JSON: ${text}`",
  },
  "ERR-20": {
    file: "packages/problem/src/retry-after.ts",
    find: "new ProblemError(429,",
    replace: "new ProblemError(503,",
  },
  "ERR-21": {
    file: "packages/problem/src/node-refusals.ts",
    find: "answerAndClose(socket, rawProblem(refusal, instance, id));",
    replace: "socket.destroy();",
  },
  "LIM-1": {
    file: "packages/json-body/src/faults.ts",
    find: "new ProblemError(413,",
    replace: "new ProblemError(400,",
  },
  "LIM-2": {
    file: "packages/json-body/src/receive-body.ts",
    find: 'if (Number(req.headers["content-length"] ?? 0) > maxBytes) return tooLarge(maxBytes);',
    replace: "",
  },
  "LIM-3": {
    file: "packages/json-body/src/read-body.ts",
    find: "if (total > maxBytes) {",
    replace: "if (total > 2 * maxBytes) {",
  },
  "LOG-1": {
    file: "packages/log/src/access-log.ts",
    find: '"message":"request"}\\n`',
    replace: '"message":"request"}\\n\\n`',
  },
  "LOG-2": { file: "packages/log/src/logger.ts", find: "base: { service, env,", replace: "base: { service," },
  "LOG-3": {
    file: "packages/log/src/access-log.ts",
    find: ',"http_status":${statusOf(res, aborted)}',
    replace: ',"status":${statusOf(res, aborted)}',
  },
  "LOG-4": {
    file: "packages/log/src/context-fields.ts",
    find: 'if (trace !== undefined) json += `,"trace_id":${quote(trace.traceId)}`;',
    replace: "",
  },
  "LOG-5": {
    file: "packages/log/src/options.ts",
    find: "fd: { kind: k.withDefault(k.integer({ min: 0 }), 1) }",
    replace: "fd: { kind: k.withDefault(k.integer({ min: 0 }), 2) }",
  },
  "LOG-6": {
    file: "packages/log/src/logger.ts",
    find: "const stream = json ? destination : textLines(destination);",
    replace: "const stream = destination;",
  },
  "MET-1": {
    file: "packages/metrics/src/exposition.ts",
    find: '"text/plain; version=0.0.4"',
    replace: '"text/plain; version=0.0.4; charset=utf-8"',
  },
  "MET-2": {
    file: "packages/metrics/src/exposition.ts",
    find: "return open > 0 && open >= text;",
    replace: "return open > 0;",
  },
  "MET-3": {
    file: "packages/metrics/src/request-metrics.ts",
    find: "{ method, endpoint: cell.endpoint, status: String(status) }",
    replace: "{ method, endpoint: cell.endpoint, status: `${String(status)[0]}xx` }",
  },
  "MET-4": {
    file: "packages/metrics/src/request-metrics.ts",
    find: "const labels = { method, endpoint: cell.endpoint };",
    replace: "const labels = { method, endpoint: cell.endpoint.toUpperCase() };",
  },
  "MET-5": { file: "packages/metrics/src/metrics.ts", find: "of.inProgress++;", replace: "" },
  "MET-6": {
    file: "packages/metrics/src/request-metrics.ts",
    find: "this.set({ ...info }, 1);",
    replace: 'this.set({ ...info, version: "" }, 1);',
  },
  "MET-7": {
    file: "packages/metrics/src/metrics.ts",
    find: "if (defaultMetrics) monitors.push(registerProcessMetrics(own));",
    replace: "",
  },
  "MET-8": {
    file: "packages/route-template/src/path-template.ts",
    find: "const text = prefix.text + rooted;",
    replace: "const text = rooted;",
  },
  "MET-9": { file: "packages/metrics/src/request-cells.ts", find: '"<unmatched>"', replace: '"<none>"' },
  "MET-10": {
    file: "packages/metrics/src/metrics.ts",
    find: "routeTemplateOf(req) ?? UNMATCHED",
    replace: "routeTemplateOf(req) ?? req.url ?? UNMATCHED",
  },
  "RDY-13": {
    file: "packages/database/src/options.ts",
    find: 'critical: { key: "critical", kind: k.withDefault(k.boolean(), true) },',
    replace: 'critical: { key: "critical", kind: k.withDefault(k.boolean(), false) },',
  },
  "RDY-14": {
    file: "packages/jwt-auth/src/refreshed-keys.ts",
    find: '{ healthy: false, critical: true, detail: "no keys fetched yet", meta }',
    replace: '{ healthy: false, critical: false, detail: "no keys fetched yet", meta }',
  },
  "RDY-15": {
    file: "packages/job-table/src/readiness.ts",
    find: 'return { name: "queue", critical: true,',
    replace: 'return { name: "queue", critical: false,',
  },
  "RDY-16": {
    file: "packages/redis/src/readiness.ts",
    find: "check: { name, critical: false, check },",
    replace: "check: { name, critical: true, check },",
  },
  "RDY-19": {
    file: "packages/events/src/bus/broker-bus.ts",
    find: 'name: "event-bus", critical: false, check',
    replace: 'name: "event-bus", critical: true, check',
  },
  "RDY-22": {
    file: "packages/jwt-auth/src/readiness.ts",
    find: "return { ...ofKeys, healthy: false, critical, detail };",
    replace: "return { ...ofKeys, critical, detail };",
  },
  "RDY-23": {
    file: "packages/token-store/src/memory.ts",
    find: "      critical: false,",
    replace: "      critical: true,",
  },
  "RDY-24": {
    file: "packages/jwt-auth/src/refreshed-keys.ts",
    find: "{ healthy: false, critical: false, detail: `serving keys ${cached}${failed}`, meta }",
    replace: "{ healthy: false, critical: true, detail: `serving keys ${cached}${failed}`, meta }",
  },
  "RDY-25": {
    file: "packages/jwt-auth/src/refreshed-keys.ts",
    find: 'return { healthy: false, critical: true, detail: "no keys fetched yet", meta };',
    replace: 'return { healthy: true, critical: false, detail: "no keys fetched yet", meta };',
  },
  "LIM-4": {
    file: "packages/express/src/in-flight.ts",
    find: "sendProblem(res.req, res, gatewayTimeout());",
    replace: "sendProblem(res.req, res, { status: 503 });",
  },
  "LIM-5": {
    file: "packages/express/src/in-flight.ts",
    find: "if (entry.waits && !res.headersSent &&",
    replace: "if (entry.waits &&",
  },
  "EDGE-1": {
    file: "packages/express/src/create-service.ts",
    find: "settings.trustedProxies.length > 0 ? [...settings.trustedProxies] : false",
    replace: "true",
  },
  "EDGE-2": {
    file: "packages/express/src/create-service.ts",
    find: "settings.trustedProxies.length > 0 ? [...settings.trustedProxies] : false",
    replace: "settings.trustedProxies.length > 0",
  },
  "EDGE-3": {
    file: "packages/express/src/trusted-hosts.ts",
    find: "host.slice(1).toLowerCase()",
    replace: "host.slice(2).toLowerCase()",
  },
  "EDGE-4": {
    file: "packages/express/src/edge.ts",
    find: "settings.cors.origins.length > 0 ? corsLayer(settings) : undefined",
    replace: "corsLayer(settings)",
  },
  "EDGE-5": {
    file: "packages/config/src/service-table.ts",
    find: 'if (!credentials || !origins.includes("*")) return [];',
    replace: "return [];",
  },
  "EDGE-6": {
    file: "packages/express/src/security-headers.ts",
    find: "else if (isHtml(res, given)) securePage(res);",
    replace: "",
  },
  "EDGE-7": {
    file: "packages/express/src/security-headers.ts",
    find: 'header("Referrer-Policy", "no-referrer"),',
    replace: "",
  },
  "ROUTE-1": {
    file: "packages/express/src/framework-routes.ts",
    find: "if (inFront.size === 0) next();",
    replace: "if (inFront.size === 0) dispatcher(behind)(req, res, next);",
  },
  "ROUTE-2": {
    file: "packages/express/src/framework-routes.ts",
    find: "if (claimed) inFront.set(",
    replace: "if (false as boolean) inFront.set(",
  },
  "ROUTE-3": {
    file: "packages/express/src/framework-routes.ts",
    find: "    place(app: RoutedApp): void {",
    replace:
      '    place(app: RoutedApp): void {\n      const { stack } = (app._router ?? app.router) as { stack: { route?: { path?: unknown } }[] };\n      const at = stack.findIndex(({ route }) => String(route?.path).includes(":"));\n      if (at >= 0) stack.push(...stack.splice(at, 1));',
  },
  "RATE-1": {
    file: "packages/problem/src/retry-after.ts",
    find: "extensions: { limit, remaining, retry_after: retryAfter,",
    replace: "extensions: { limit, remaining,",
  },
  "RATE-2": {
    file: "packages/problem/src/retry-after.ts",
    find: "Math.max(1, Math.ceil(seconds))",
    replace: "Math.max(0, Math.floor(seconds))",
  },
  "RATE-3": {
    file: "packages/rate-limit/src/memory-store.ts",
    find: "level = Math.min(full, entry.microTokens + gained);",
    replace: "level = gained >= full ? full : entry.microTokens;",
  },
  "RATE-4": {
    file: "packages/rate-limit/src/identity.ts",
    find: 'if (context?.principal !== undefined) return labelled("sub", context.principal.subject);',
    replace: "",
  },
  "RATE-5": {
    file: "packages/rate-limit/src/rate-limit.ts",
    find: "return limit.failOpen ? next() : next(storeUnavailable(store.retryAfterMs));",
    replace: "return next(storeUnavailable(store.retryAfterMs));",
  },
  "DOC-1": {
    file: "packages/openapi/src/describe.ts",
    find: "const description = handlers.map(descriptionOf).find((each) => each !== undefined);",
    replace:
      "const description = handlers.map(descriptionOf).find((each) => each !== undefined);\n    if (description === undefined) continue;",
  },
  "DOC-2": {
    file: "packages/openapi/src/openapi.ts",
    find: "...(options.openapi ? [{",
    replace: "...(options.docs ? [{",
  },
  "DOC-3": {
    file: "packages/openapi/src/openapi.ts",
    find: "...(options.docs ? [{",
    replace: "...(options.openapi ? [{",
  },
};
