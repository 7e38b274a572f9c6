export { describe } from "./describe.ts";
export { describes } from "./describes.ts";
export type {
  BeforeMiddleware,
  RequestExamples,
  ResponseDescription,
  RouteDescription,
} from "./description.ts";
export {
  type DocumentedRoute,
  documentOf,
  type DocumentOptions,
  type OpenApiDocument,
  type Operation,
} from "./document.ts";
export { type OpenApi, openapi } from "./openapi.ts";
export type { OpenApiOptions } from "./options.ts";
export { type DescribedRoute, route, type RouteHandler, type RouteResponse } from "./route.ts";
export type {
  DescribedSchema,
  Direction,
  JsonSchema,
  Schema,
  SchemaIssue,
  SchemaResult,
  StandardSchema,
  ValueOf,
} from "./schema.ts";
export type { TextValues } from "./text-values.ts";
export {
  type RequestSchemas,
  type RequestValues,
  type Valid,
  validate,
  type Validation,
} from "./validate.ts";
