import type { IncomingMessage, ServerResponse } from "node:http";
import { expressMajors, listen, type Listening } from "@svc/test-support";
import type { Middleware } from "@svc/context";
import { notFound, problemHandler, type ProblemHandlerOptions } from "@svc/problem";

export type Stack = "bare http" | keyof typeof expressMajors;
export const stacks: readonly Stack[] = ["bare http", "express 4", "express 5"];

/** Starts a bare or Express server that runs `handler`, then `notFound()`, and `problemHandler()` for errors. */
export function serve(
  stack: Stack,
  handler: Middleware,
  options?: ProblemHandlerOptions,
): Promise<Listening> {
  const last = notFound();
  const onError = problemHandler(options);
  if (stack === "bare http") {
    return listen((req: IncomingMessage, res: ServerResponse) => {
      const fail = (error: unknown): void => onError(error, req, res, () => undefined);
      try {
        handler(req, res, (error) => (error === undefined ? last(req, res, fail) : fail(error)));
      } catch (error) {
        fail(error);
      }
    });
  }
  const app = expressMajors[stack]();
  app.use(handler);
  app.use(last, onError);
  return listen(app);
}

export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  readonly instance: string;
  readonly request_id: string;
  readonly [member: string]: unknown;
}

/** Sends a request of any method and returns status, headers and parsed body. */
export async function ask(
  url: string,
  init?: RequestInit,
): Promise<{ readonly status: number; readonly headers: Headers; readonly body: ProblemBody }> {
  const response = await fetch(url, init);
  const text = await response.text();
  const body = (text === "" ? {} : JSON.parse(text)) as ProblemBody;
  return { status: response.status, headers: response.headers, body };
}
