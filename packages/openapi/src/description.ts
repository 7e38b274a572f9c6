import type { IncomingMessage, ServerResponse } from "node:http";
import type { JsonSchema, Schema } from "./schema.ts";
import type { RequestSchemas } from "./validate.ts";

// Method parameters are bivariant, so middleware may declare the request and the response of Express that it expects.
interface Functions {
  before(req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void): unknown;
}

/** Middleware that runs before the validation. It may be asynchronous. */
export type BeforeMiddleware = Functions["before"];

/** One response of a route. */
export interface ResponseDescription {
  /** Default: the reason phrase of the status. */
  readonly description?: string | undefined;
  /** The body. Default: none for 1xx to 3xx, a problem document for 4xx and 5xx. */
  readonly body?: Schema | undefined;
  /** Default: `application/json`; for a problem document `application/problem+json`. */
  readonly contentType?: string | undefined;
  /** Additional bodies, by content type. Default: none. */
  readonly bodies?: Readonly<Record<string, Schema>> | undefined;
  /** Headers by name, with a description or a JSON Schema. */
  readonly headers?: Readonly<Record<string, string | JsonSchema>> | undefined;
  readonly example?: unknown;
}

/** Examples by request part; for `params`, `query` and `headers` by name. */
export interface RequestExamples {
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly headers?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
}

/** The description of a route. */
export interface RouteDescription<S extends RequestSchemas = RequestSchemas> {
  /** HTTP method in any letter case, such as `GET`, which also handles `HEAD`. */
  readonly method: string;
  /** Path of fixed segments and parameters, such as `/items/:id`. */
  readonly path: string;
  /** Schemas of the request. A part without a schema is neither validated nor described. */
  readonly request?: S | undefined;
  /**
   * Bodies that the handler reads itself, by content type; described, but not validated. If `request.body` is set, it
   * replaces the entry for JSON.
   */
  readonly requestBodies?: Readonly<Record<string, Schema>> | undefined;
  /** Responses by status. A string is the description of a response without a body, or of a problem. */
  readonly responses?: Readonly<Record<number, ResponseDescription | string>> | undefined;
  /** Bodies of 4xx and 5xx in addition to problem documents, by content type, such as error pages for browsers. Default: none. */
  readonly errorBodies?: Readonly<Record<string, Schema>> | undefined;
  /** Middleware that runs before the validation, such as guards. */
  readonly before?: BeforeMiddleware | readonly BeforeMiddleware[] | undefined;
  /** Security requirements, as in OpenAPI. Default: the requirements that the guards imply. */
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[] | undefined;
  readonly summary?: string | undefined;
  readonly description?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly examples?: RequestExamples | undefined;
  /** Default: derived from the method and the path. */
  readonly operationId?: string | undefined;
  readonly deprecated?: boolean | undefined;
}

const DESCRIPTION: unique symbol = Symbol.for("@svc/openapi/description") as never;

/** Adds a description to a handler, where {@link descriptionOf} finds it. */
export function describeHandler<H extends object>(handler: H, description: RouteDescription): H {
  return Object.assign(handler, { [DESCRIPTION]: description });
}

/** Returns the description of a handler; undefined for a handler without one. */
export function descriptionOf(handler: unknown): RouteDescription | undefined {
  return typeof handler === "function"
    ? (handler as { readonly [DESCRIPTION]?: RouteDescription })[DESCRIPTION]
    : undefined;
}
