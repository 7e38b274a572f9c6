import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Middleware } from "@svc/context";
import { notFoundError, ProblemError, sendProblem } from "@svc/problem";
import { expressMajors, listen, type Listening } from "@svc/test-support";

export const stacks = ["bare http", "express 4", "express 5"] as const;
export type Stack = (typeof stacks)[number];

/** The final middleware of an application. */
function finish(req: IncomingMessage, res: ServerResponse, error: unknown): void {
  sendProblem(req, res, error instanceof ProblemError ? error : new ProblemError(500));
}

/** Serves middleware on one of the stacks with problem responses, below the path `mount` if given. */
export async function serve(
  stack: Stack,
  middleware: readonly Middleware[],
  mount?: string,
): Promise<Listening> {
  if (stack === "bare http") {
    return listen(
      createServer((req, res) => {
        const step = (index: number, error?: unknown): void => {
          const each = middleware[index];
          if (error !== undefined) finish(req, res, error);
          else if (each === undefined) finish(req, res, notFoundError());
          else each(req, res, (err) => step(index + 1, err));
        };
        step(0);
      }),
    );
  }
  const app = expressMajors[stack]();
  for (const each of middleware) {
    if (mount === undefined) app.use(each);
    else app.use(mount, each);
  }
  app.use((req, res) => finish(req, res, notFoundError()));
  app.use((error: unknown, req: IncomingMessage, res: ServerResponse, _next: unknown) =>
    finish(req, res, error),
  );
  return listen(app);
}

/** Returns the request that a button's form sends from a page of the same origin. */
export function form(
  fields: Readonly<Record<string, string>> | string,
  headers: Readonly<Record<string, string>> = {},
): RequestInit {
  return {
    method: "POST",
    redirect: "manual",
    body: new URLSearchParams(fields).toString(),
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      "sec-fetch-site": "same-origin",
      ...headers,
    },
  };
}
