import type { Logger } from "@svc/context";
import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import type { DocumentedRoute } from "./document.ts";

/** The path of the document (DOC-1). */
export const DOCUMENT_PATH = "/openapi.json";

const pagePath: k.Kind<string> = {
  expects: `a path such as "/docs", other than ${DOCUMENT_PATH}`,
  accepts: (value): value is string =>
    typeof value === "string" && /^(?:\/(?!\.{1,2}(?:\/|$))[\w.-]+)+$/.test(value) && value !== DOCUMENT_PATH,
};

const object: k.Kind<Readonly<Record<string, unknown>>> = {
  expects: "an object",
  accepts: (value): value is Readonly<Record<string, unknown>> =>
    typeof value === "object" && value !== null && !Array.isArray(value),
};

const texts: k.Kind<Readonly<Record<string, string>>> = {
  expects: "an object of strings",
  accepts: (value): value is Readonly<Record<string, string>> =>
    object.accepts(value) && Object.values(value).every((each) => typeof each === "string"),
};

const status: k.Kind<number> = k.integer({ min: 400, max: 599 });

export const openapiOptions = defineOptions("openapi()", {
  /** The title of the document. Default: `Service`; in a service its name. */
  title: { key: "title", kind: k.optional(k.string()) },
  /** The version in the document. Default: `0.0.0`; in a service its version. */
  version: { kind: k.withDefault(k.string(), "0.0.0") },
  /** The description of the document. Default: none. */
  description: { key: "description", kind: k.optional(k.string()) },
  /** Further members of the document's `info`, such as `license` and `contact`. Default: none. */
  info: { kind: k.withDefault(object, {}) },
  /** The descriptions of tags, by name. Default: none. */
  tags: { kind: k.withDefault(texts, {}) },
  /** The servers of the document, by URL. Default: none, which means the origin that serves the document. */
  servers: { key: "servers", kind: k.withDefault(k.listOf(k.string()), []) },
  /** Whether `GET /openapi.json` is served (DOC-1, DOC-2). Default: true. */
  openapi: { key: "openapi", kind: k.withDefault(k.boolean(), true) },
  /** Whether the page for people is served (DOC-3). Default: true; in a service false in `prod`. */
  docs: { key: "docs", kind: k.withDefault(k.boolean(), true), defaultIn: (env) => env !== "prod" },
  /** The path of the page. Default: `/docs`. */
  docsPath: { key: "docs_path", kind: k.withDefault(pagePath, "/docs") },
  /**
   * Whether responses are compared with their descriptions; differences are logged once per route and kind, at WARN.
   * Default: true; in a service false in `prod`.
   */
  checkResponses: {
    key: "check_responses",
    kind: k.withDefault(k.boolean(), true),
    defaultIn: (env) => env !== "prod",
  },
  /** The cookie that may contain the token instead of `Authorization`. Default: none. */
  tokenCookie: { kind: k.optional(k.string()) },
  /** The statuses of problems that every route can return, such as 401. Default: none. */
  problems: { kind: k.withDefault(k.listOf(status), []) },
  /** Routes that the application's routers do not contain. Default: none. */
  routes: { kind: k.optional(k.func<() => readonly DocumentedRoute[]>()) },
  /** Receives the differences that `checkResponses` finds. Default: no logger. */
  logger: { kind: k.optional(k.objectWith<Logger>("a logger", "debug", "info", "warn", "error", "fatal")) },
});

/** Options of {@link openapi}. */
export type OpenApiOptions = OptionsOf<typeof openapiOptions>;
