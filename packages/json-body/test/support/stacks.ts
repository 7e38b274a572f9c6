import type { IncomingMessage, ServerResponse } from "node:http";
import type { Middleware } from "@svc/context";
import { bodyOf, jsonBody, type JsonBodyOptions } from "@svc/json-body";
import { problemHandler, sendJson } from "@svc/problem";
import { expressMajors, listen, type Listening } from "@svc/test-support";

export type Stack = "bare http" | keyof typeof expressMajors;
export const stacks: readonly Stack[] = ["bare http", "express 4", "express 5"];

/** The request as the route saw it: whether its body was parsed, and the parsed body. */
export interface Seen {
  readonly parsed: boolean;
  readonly body?: unknown;
}

const answer: Middleware = (req, res) => {
  const body = bodyOf(req);
  sendJson(req, res, 200, { parsed: body !== undefined, body });
};

/** Starts a server of the given stack that runs `middleware`, and then a route that returns what it received. */
export function serveAll(stack: Stack, middleware: readonly Middleware[], last = answer): Promise<Listening> {
  const onError = problemHandler();
  if (stack === "bare http") {
    return listen((req: IncomingMessage, res: ServerResponse) => {
      const run = (index: number, error?: unknown): void => {
        if (error !== undefined) onError(error, req, res, () => undefined);
        else (middleware[index] ?? last)(req, res, (fault) => run(index + 1, fault));
      };
      run(0);
    });
  }
  const app = expressMajors[stack]();
  app.use(...middleware, last);
  app.use(onError);
  return listen(app);
}

export function serve(stack: Stack, options?: JsonBodyOptions): Promise<Listening> {
  return serveAll(stack, [jsonBody(options)]);
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Seen & { readonly detail?: string; readonly status?: number; readonly request_id?: string };
}

export async function post(
  url: string,
  body: string | Uint8Array<ArrayBuffer> | undefined,
  headers: Readonly<Record<string, string>> = { "Content-Type": "application/json" },
): Promise<Answer> {
  const response = await fetch(url, { method: "POST", headers, ...(body === undefined ? {} : { body }) });
  return {
    status: response.status,
    headers: response.headers,
    body: (await response.json()) as Answer["body"],
  };
}
