import { type IncomingMessage, type RequestListener, ServerResponse } from "node:http";

/** The members of an Express application that this package uses. Both major versions have them. */
export interface ExpressApp extends RequestListener {
  /** Prototype of every request that the application handles. */
  readonly request: object;
  /** Prototype of every response that the application handles. */
  readonly response: object;
  readonly settings: Readonly<Record<string, unknown>>;
  set(name: string, value: unknown): unknown;
  on(event: "mount", listener: () => void): unknown;
}

/** Returns whether a value is an Express application, of either major version. */
export function isExpressApp(value: unknown): value is ExpressApp {
  if (typeof value !== "function") return false;
  const { request, response, settings, set, on } = value as Partial<ExpressApp>;
  return (
    typeof request === "object" &&
    response instanceof ServerResponse &&
    typeof settings === "object" &&
    typeof set === "function" &&
    typeof on === "function"
  );
}

/** The members of an Express response that this package uses, in addition to Node's members. */
export interface ExpressResponse extends ServerResponse<IncomingMessage> {
  readonly app: ExpressApp;
  readonly get: (this: ExpressResponse, name: string) => unknown;
  readonly set: (this: ExpressResponse, name: string, value: string) => unknown;
  readonly json: (this: ExpressResponse, ...args: readonly unknown[]) => ExpressResponse;
  readonly send: (this: ExpressResponse, body: unknown) => ExpressResponse;
  /** Not declared in Node's types. */
  readonly getRawHeaderNames: (this: ExpressResponse) => string[];
}
