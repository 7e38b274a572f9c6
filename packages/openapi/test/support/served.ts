import { problemHandler } from "@svc/problem";
import { expressMajors, listen, type Listening } from "@svc/test-support";
import express5, { type Express } from "express";

/** The major versions of Express that every test runs on. */
export const majors = Object.entries(expressMajors);

/** Starts an application with JSON bodies and problem documents. `add` adds its routes. */
export async function serve(express: typeof express5, add: (app: Express) => void): Promise<Listening> {
  const app = express();
  app.use(express.json());
  add(app);
  app.use(problemHandler());
  return listen(app);
}

/** A response, with its body as JSON. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any;
}

/** Sends a request; a body is sent as JSON. */
export async function ask(url: string, method = "GET", body?: unknown): Promise<Answer> {
  const response = await fetch(url, {
    method,
    ...(body === undefined
      ? {}
      : { body: JSON.stringify(body), headers: { "Content-Type": "application/json" } }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    body: text.startsWith("{") || text.startsWith("[") ? JSON.parse(text) : text,
  };
}
