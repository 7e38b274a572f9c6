import type { IncomingMessage, ServerResponse } from "node:http";
import type { Middleware } from "@svc/context";
import { jwtAuth } from "@svc/jwt-auth";
import { notFoundError, problemHandler } from "@svc/problem";
import { expressMajors, listen, type Listening } from "@svc/test-support";
import { authRoutes, type AuthRoutesOptions } from "@svc/token-issuer";
import type { Issuing } from "./issuing.ts";

export type Stack = "bare http" | keyof typeof expressMajors;
export const stacks: readonly Stack[] = ["bare http", "express 4", "express 5"];

/** Starts a server on the given stack that verifies callers, serves the routes and handles problems. */
export function serve(
  stack: Stack,
  { issuer, keys, store, clock, logger }: Issuing,
  options?: AuthRoutesOptions,
  inFront: readonly Middleware[] = [],
): Promise<Listening> {
  const auth = jwtAuth({
    keys,
    revocation: store,
    revocationTimeoutSeconds: 15,
    env: "local",
    now: clock,
    logger,
  });
  const chain: readonly Middleware[] = [...inFront, auth, authRoutes(issuer, options)];
  const onError = problemHandler({ logger });
  if (stack === "bare http") {
    return listen((req: IncomingMessage, res: ServerResponse) => {
      const run = (index: number, error?: unknown): void => {
        const each = chain[index];
        if (error !== undefined) onError(error, req, res, () => undefined);
        else if (each === undefined) onError(notFoundError(), req, res, () => undefined);
        else each(req, res, (fault) => run(index + 1, fault));
      };
      run(0);
    });
  }
  const app = expressMajors[stack]();
  for (const each of chain) app.use(each);
  app.use((_req, _res, next) => next(notFoundError()));
  app.use(onError);
  return listen(app);
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: Readonly<Record<string, unknown>>;
}

export async function ask(url: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(url, init);
  const text = await response.text();
  const body = text === "" ? {} : (JSON.parse(text) as Answer["body"]);
  return { status: response.status, headers: response.headers, text, body };
}

export function bearer(token: string): { readonly headers: Readonly<Record<string, string>> } {
  return { headers: { Authorization: `Bearer ${token}` } };
}

export function json(value: unknown): RequestInit {
  return {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(value),
  };
}
