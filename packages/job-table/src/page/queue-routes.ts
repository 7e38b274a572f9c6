import type { IncomingMessage, ServerResponse } from "node:http";
import { contextOf, enterContext, isOfThisOrigin, type Middleware, setRouteTemplate } from "@svc/context";
import { forbidden, methodNotAllowed, type ProblemError, sendJson } from "@svc/problem";
import { safeLogger } from "@svc/resilience";
import { sending } from "../query.ts";
import { type Overview, overviewSql } from "../sql/overview.ts";
import { type QueueRoutesOptions, type ResolvedRoutes, resolveRoutesOptions } from "./options.ts";
import { queuePage } from "./queue-page.ts";
import { retryFormOf } from "./retry-form.ts";
import { CONTENT_POLICY } from "./style.ts";
import { type Bounded, createBounded } from "./table-calls.ts";

interface Route {
  readonly methods: readonly string[];
  answer(req: IncomingMessage, res: ServerResponse): Promise<void>;
}

const READS: readonly string[] = ["GET", "HEAD"];
const PRIVATELY = { "Cache-Control": "no-store" } as const;
const IDS_A_LINE = 100;

/**
 * Creates a middleware that serves `GET {path}` (the page), `GET {path}/stats` (`{pending, running, dead}`) and
 * `POST {path}/retry` (the page's buttons), and passes on every other path (JOB-32). It can be mounted anywhere.
 * Failures go to `next` as problems: 403 for a request from another origin's page unless it is GET or HEAD; 405 for
 * another method; 400, 413 and 415 for an invalid form; 503 when the table is unresponsive. The origin is checked
 * before the guard, because the guard may have side effects.
 *
 * @throws ConfigurationError for unknown or invalid options
 */
export function queueRoutes(options: QueueRoutesOptions): Middleware {
  const resolved = resolveRoutesOptions(options);
  const { path, guard, table, timeoutMs } = resolved;
  const bounded = createBounded(timeoutMs);
  const routes: ReadonlyMap<string, Route> = new Map<string, Route>([
    [path, { methods: READS, answer: (req, res) => page(resolved, bounded, req, res) }],
    [
      `${path}/stats`,
      {
        methods: READS,
        async answer(req, res) {
          const stats = await bounded(() => table.stats());
          if (!res.headersSent) sendJson(req, res, 200, stats, PRIVATELY);
        },
      },
    ],
    [`${path}/retry`, { methods: ["POST"], answer: (req, res) => retry(resolved, bounded, req, res) }],
  ]);

  return function queueRoutesMiddleware(req, res, next) {
    const [at] = split(req.url ?? "");
    const route = routes.get(at);
    // Leave OPTIONS to a CORS middleware.
    if (route === undefined || req.method === "OPTIONS") {
      next();
      return;
    }
    // The path of a mount may contain text from the client, so do not report it as the route template.
    if (!(req as Mounted).baseUrl) setRouteTemplate(req, at);
    if (!READS.includes(req.method ?? "") && !isOfThisOrigin(req)) {
      next(crossOrigin());
      return;
    }
    const admitted = (): void => {
      if (!route.methods.includes(req.method ?? "")) next(methodNotAllowed(route.methods));
      else enterContext(req, res, () => void route.answer(req, res).catch(next));
    };
    if (guard === undefined) admitted();
    else guarded(guard, req, res, admitted, next);
  };
}

interface Mounted extends IncomingMessage {
  readonly baseUrl?: string;
}

/** Runs the guard. Calls at most one of the two callbacks, once, even if the guard calls back repeatedly. */
function guarded(
  guard: Middleware,
  req: IncomingMessage,
  res: ServerResponse,
  admitted: () => void,
  next: (err?: unknown) => void,
): void {
  let isDecided = false;
  const decide = (error?: unknown): void => {
    if (isDecided) return;
    isDecided = true;
    if (error === undefined || error === null) admitted();
    else next(error);
  };
  // The guard may be async. A rejection denies access, like a thrown error.
  let returned: unknown;
  try {
    returned = guard(req, res, decide);
  } catch (error) {
    decide(error ?? new Error("the guard threw null or undefined"));
  }
  if (returned instanceof Promise) {
    returned.catch((error: unknown) =>
      decide(error ?? new Error("the guard rejected with null or undefined")),
    );
  }
}

async function page(
  { table, on, now, path, schedules }: ResolvedRoutes,
  bounded: Bounded,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const overview = await bounded(
    async () =>
      (
        await sending(on, "queueRoutes()")<Overview & Record<string, unknown>>(
          overviewSql(on.quotedTable),
          [],
        )
      )[0],
  );
  if (overview === undefined || res.headersSent) return;
  const [, query] = split(req.url ?? "");
  const text = queuePage({
    table: table.name,
    overview,
    now: now(),
    // The target is relative, because a mount or proxy may add a path prefix.
    action: `${lastOf(path)}/retry`,
    note: noteOf(new URLSearchParams(query).get("retried")),
    schedules: schedules?.(),
  });
  const body = Buffer.from(text);
  res.statusCode = 200;
  const headers = {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Length": body.length,
    "Content-Security-Policy": CONTENT_POLICY,
    "X-Content-Type-Options": "nosniff",
    // With a stricter policy, browsers send `Origin: null` with the page's forms.
    "Referrer-Policy": "same-origin",
    ...PRIVATELY,
  };
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  if (req.method === "HEAD") res.end();
  else res.end(body);
}

function noteOf(retried: string | null): string | undefined {
  if (retried === null || !/^\d{1,9}$/.test(retried)) return undefined;
  const count = Number(retried);
  if (count === 0) return "No job was retried, because the dead letter does not exist any more.";
  return count === 1 ? "1 dead letter is pending again." : `${count} dead letters are pending again.`;
}

async function retry(
  { table, path, logger }: ResolvedRoutes,
  bounded: Bounded,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  const wanted = await retryFormOf(req);
  const context = contextOf(req);
  const log = safeLogger(logger ?? context?.log);
  const subject = context?.principal?.subject ?? null;
  // Log inside the call, because it may finish after its deadline.
  const count = await bounded(async () => {
    const ids = await table.retryDead(wanted);
    for (let first = 0; first < ids.length; first += IDS_A_LINE) {
      const fields = { subject, job_ids: ids.slice(first, first + IDS_A_LINE), table: table.name };
      log?.info(fields, "dead letters retried on the queue page");
    }
    return ids.length;
  });
  if (res.headersSent) return;
  res.statusCode = 303;
  res.setHeader("Location", `../${lastOf(path)}?retried=${count}`);
  res.setHeader("Cache-Control", "no-store");
  res.setHeader("Content-Length", 0);
  res.end();
}

function crossOrigin(): ProblemError {
  return forbidden("this request must come from a page of the same origin", { code: "ERR_SVC_CROSS_ORIGIN" });
}

function lastOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function split(target: string): readonly [string, string] {
  if (!target.startsWith("/")) {
    const url = URL.parse(target);
    return url === null ? [target, ""] : [url.pathname, url.search.slice(1)];
  }
  const query = target.indexOf("?");
  return query === -1 ? [target, ""] : [target.slice(0, query), target.slice(query + 1)];
}
