import type { IncomingMessage, ServerResponse } from "node:http";
import { type Middleware, pathOfTarget, type ReadinessCheck, setRouteTemplate } from "@svc/context";
import { methodNotAllowed, sendJson, sendProblem } from "@svc/problem";
import { type HealthOptions, healthOptions, type ResolvedHealthOptions } from "./options.ts";
import { type Answer, createReadiness, type Readiness } from "./readiness.ts";
import type { ReadinessReport, ServiceState } from "./report.ts";
import { safeMember } from "./safe-text.ts";

/** The three handlers, for an application's own routes. Each works under any path. */
export interface HealthHandlers {
  readonly health: Middleware;
  readonly ready: Middleware;
  /** Calls `next()` when `/info` is disabled. */
  readonly info: Middleware;
}

/** The middleware for `/health`, `/ready` and `/info`, with its state, checks and handlers. */
export interface HealthMiddleware extends Middleware {
  readonly handlers: HealthHandlers;
  /**
   * Sets the state. In `starting` and `draining`, `/ready` returns 503 without running a check; `/health` still returns
   * 200. The initial state is `serving`. `draining` is final: later calls have no effect.
   * @throws ConfigurationError for an unknown state
   */
  readonly setState: (state: ServiceState) => void;
  readonly state: () => ServiceState;
  /**
   * Adds a check, starting with the next run.
   * @throws ConfigurationError for an invalid check, and for a name that is already used
   */
  readonly addCheck: (check: ReadinessCheck) => void;
  /** Returns the report that `/ready` currently returns, from the same shared run. Never rejects. */
  readonly report: () => Promise<ReadinessReport>;
}

// A cached response, including a 304, would not show the current state.
const NO_STORE = { "Cache-Control": "no-store" } as const;
const ALLOWED = ["GET", "HEAD"] as const;

/**
 * Handles GET and HEAD requests for exactly `/health`, `/ready` and, outside `prod`, `/info` (SYS-1 to SYS-8, RDY-1 to
 * RDY-12, RDY-20, RDY-21). Other methods on these paths get 405. All other paths, including `/health/`, are passed to
 * `next`.
 *
 * @throws ConfigurationError for invalid options
 */
export function health(options: HealthOptions): HealthMiddleware {
  const resolved = healthOptions.resolve(options);
  const readiness = createReadiness(resolved);
  const hasInfo = resolved.info && resolved.env !== "prod";
  const handlers: HealthHandlers = {
    health: healthHandler(resolved),
    ready: readyHandler(readiness),
    info: hasInfo ? infoHandler(resolved) : nothingHere,
  };
  const byPath = new Map([
    ["/health", handlers.health],
    ["/ready", handlers.ready],
  ]);
  if (hasInfo) byPath.set("/info", handlers.info);

  function answerHealth(req: IncomingMessage, res: ServerResponse, next: (err?: unknown) => void): void {
    const path = pathOfTarget(req.url ?? "");
    const handler = byPath.get(path);
    if (handler === undefined) {
      next();
      return;
    }
    // Express knows a mount prefix only as the client wrote it, so it must not become a metric label.
    if (!(req as Mounted).baseUrl) setRouteTemplate(req, path);
    handler(req, res, next);
  }

  return Object.assign(answerHealth, {
    handlers,
    setState: (state: ServiceState) => readiness.setState(state),
    state: () => readiness.state,
    addCheck: (check: ReadinessCheck) => readiness.addCheck(check),
    report: async () => (await readiness.answer()).report,
  });
}

interface Mounted extends IncomingMessage {
  readonly baseUrl?: string;
}

function isRead(req: IncomingMessage, res: ServerResponse): boolean {
  if (req.method === "GET" || req.method === "HEAD") return true;
  sendProblem(req, res, methodNotAllowed(ALLOWED));
  return false;
}

function healthHandler({ service, version, env }: ResolvedHealthOptions): Middleware {
  // The body is built once, so that the probe succeeds even if all dependencies hang.
  const body = Buffer.from(JSON.stringify({ status: "ok", service, version, env }));
  return function healthReport(req, res) {
    if (isRead(req, res)) sendJson(req, res, 200, body, NO_STORE);
  };
}

function readyHandler(readiness: Readiness): Middleware {
  return function readinessReport(req, res, next) {
    if (!isRead(req, res)) return;
    const send = ({ httpStatus, body }: Answer): void => {
      // A request deadline may have sent a response while the checks ran.
      if (!res.headersSent) sendJson(req, res, httpStatus, body, NO_STORE);
    };
    const answer = readiness.answer();
    if (answer instanceof Promise) answer.then(send).catch(next);
    else send(answer);
  };
}

function infoHandler({ service, version, env, providers, plugins }: ResolvedHealthOptions): Middleware {
  return function serviceInfo(req, res, next) {
    if (!isRead(req, res)) return;
    let body: Buffer;
    try {
      const listed = {
        service,
        version,
        env,
        providers: typeof providers === "function" ? listFrom("providers", providers) : providers,
        plugins: typeof plugins === "function" ? listFrom("plugins", plugins) : plugins,
      };
      // Mask values, because plugins report their configuration, which may include URLs with user-info.
      body = Buffer.from(JSON.stringify(listed, safeMember));
    } catch (error) {
      next(error);
      return;
    }
    sendJson(req, res, 200, body, NO_STORE);
  };
}

function listFrom<T>(option: string, list: () => readonly T[]): readonly T[] {
  const listed: unknown = list();
  if (Array.isArray(listed)) return listed;
  // Ignore the promise's rejection, so that it is not reported as unhandled.
  if (listed instanceof Promise) listed.catch(() => undefined);
  throw new TypeError(`${option} of health() must return a list, not a promise`);
}

function nothingHere(_req: IncomingMessage, _res: ServerResponse, next: (err?: unknown) => void): void {
  next();
}
