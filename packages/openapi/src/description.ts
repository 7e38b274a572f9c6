import type { Middleware } from "@svc/context";
import type { JsonSchema, Schema } from "./schema.ts";
import type { RequestSchemas } from "./validate.ts";

/** One response of a route. */
export interface ResponseDescription {
  /** Default: the phrase of the status. */
  readonly description?: string | undefined;
  /** The body. Default: none for 1xx to 3xx, a problem document for 4xx and 5xx. */
  readonly body?: Schema | undefined;
  /** Default: `application/json`; for a problem document `application/problem+json`. */
  readonly contentType?: string | undefined;
  /** Further bodies, by content type. Default: none. */
  readonly bodies?: Readonly<Record<string, Schema>> | undefined;
  /** Headers by name, with a description or a JSON Schema. */
  readonly headers?: Readonly<Record<string, string | JsonSchema>> | undefined;
  readonly example?: unknown;
}

/** Examples by part. Those of `params`, `query` and `headers` are by name. */
export interface RequestExamples {
  readonly params?: Readonly<Record<string, unknown>> | undefined;
  readonly query?: Readonly<Record<string, unknown>> | undefined;
  readonly headers?: Readonly<Record<string, unknown>> | undefined;
  readonly body?: unknown;
}

/** The description of a route. */
export interface RouteDescription<S extends RequestSchemas = RequestSchemas> {
  /** In any letter case, such as `GET`. `GET` also handles `HEAD`. */
  readonly method: string;
  /** Fixed segments and parameters: `/items/:id`. */
  readonly path: string;
  /** What the route accepts. A part without a schema is neither validated nor described. */
  readonly request?: S | undefined;
  /**
   * Bodies that the handler reads itself, by content type; described, but not validated. If `request.body` is set, it
   * replaces the entry for JSON.
   */
  readonly requestBodies?: Readonly<Record<string, Schema>> | undefined;
  /** By status. A text is the description of a response without a body, or of a problem. */
  readonly responses?: Readonly<Record<number, ResponseDescription | string>> | undefined;
  /** Bodies of 4xx and 5xx in addition to problem documents, by content type, such as error pages for browsers. Default: none. */
  readonly errorBodies?: Readonly<Record<string, Schema>> | undefined;
  /** Middleware that runs before the validation, such as guards. */
  readonly before?: Middleware | readonly Middleware[] | undefined;
  /** Security requirements, as in OpenAPI. Default: those that the guards imply. */
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[] | undefined;
  readonly summary?: string | undefined;
  readonly description?: string | undefined;
  readonly tags?: readonly string[] | undefined;
  readonly examples?: RequestExamples | undefined;
  /** Default: made of the method and the path. */
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
