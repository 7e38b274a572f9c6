import type { IncomingMessage, ServerResponse } from "node:http";
import { contextOf, currentContext, type Logger, type Middleware, type Principal } from "@svc/context";
import { principalOf } from "@svc/jwt-auth";
import { problemHandler, sendJson } from "@svc/problem";
import { expressMajors, listen, type Listening } from "@svc/test-support";

export type Stack = "bare http" | keyof typeof expressMajors;
export const stacks: readonly Stack[] = ["bare http", "express 4", "express 5"];

/** The values that the route observed. */
export interface Seen {
  readonly caller: string | null;
  readonly principal: Principal | null;
  /** Whether the current context was that of the request, even after a turn of the event loop. */
  readonly inContext: boolean;
}

/** The middleware of each route, by path. The handler that responds runs after it. */
export type Routes = Readonly<Record<string, readonly Middleware[]>>;

const answer: Middleware = (req, res, next) => {
  const before = currentContext() === contextOf(req);
  setImmediate(() => {
    try {
      const principal = principalOf(req) ?? null;
      const inContext = before && currentContext() === contextOf(req);
      sendJson(req, res, 200, { caller: principal?.subject ?? null, principal, inContext });
    } catch (error) {
      next(error);
    }
  });
};

/** Starts a bare or Express server with the middleware, then the routes, then the problem handler. */
export function serve(
  stack: Stack,
  middleware: readonly Middleware[],
  routes: Routes,
  logger?: Logger,
): Promise<Listening> {
  const onError = problemHandler({ logger });
  if (stack === "bare http") {
    return listen((req: IncomingMessage, res: ServerResponse) => {
      const chain = [...middleware, ...(routes[req.url ?? ""] ?? []), answer];
      const run = (index: number, error?: unknown): void => {
        if (error === undefined) chain[index]?.(req, res, (fault) => run(index + 1, fault));
        else onError(error, req, res, () => undefined);
      };
      run(0);
    });
  }
  const app = expressMajors[stack]();
  for (const each of middleware) app.use(each);
  for (const [path, guards] of Object.entries(routes)) app.use(path, ...guards, answer);
  app.use(onError);
  return listen(app);
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Seen & {
    readonly title?: string;
    readonly detail?: string;
    readonly missing_scopes?: readonly string[];
    readonly request_id?: string;
    readonly instance?: string;
  };
}

export async function ask(
  url: string,
  headers: Readonly<Record<string, string>> = {},
  method = "GET",
): Promise<Answer> {
  const response = await fetch(url, { method, headers });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: JSON.parse(text) as Answer["body"],
  };
}

export function bearer(token: string): Readonly<Record<string, string>> {
  return { Authorization: `Bearer ${token}` };
}
