import { type Route, routesOf } from "@svc/route-template";
import { descriptionOf } from "./description.ts";
import { type DocumentedRoute, documentOf, type DocumentOptions, type OpenApiDocument } from "./document.ts";
import { templatesOf } from "./express-paths.ts";

// Express derives HEAD and OPTIONS from the other methods.
const LISTED = new Set(["GET", "PUT", "POST", "DELETE", "PATCH", "TRACE"]);
/** The methods listed for a route that handles every method. */
const ANY = ["DELETE", "GET", "PATCH", "POST", "PUT"];

/**
 * Returns the document of an application: every route of Express 4 or 5, described or not, with the security and the
 * problems that its guards imply. Routes of a mounted application are not visible. Call it after all routes have been
 * added.
 *
 * @param more routes that the application's routers do not contain
 * @throws TypeError when `app` is not an Express application or router
 */
export function describe(
  app: unknown,
  options: DocumentOptions,
  more: readonly DocumentedRoute[] = [],
): OpenApiDocument {
  return documentFor(routesOf(app), options, more);
}

/** Returns the document of routes that the caller has already read. */
export function documentFor(
  routes: readonly Route[],
  options: DocumentOptions,
  more: readonly DocumentedRoute[],
): OpenApiDocument {
  const listed: DocumentedRoute[] = [];
  // A route of one method takes precedence over handlers for all methods, which are usually middleware.
  const ofAnyMethod: DocumentedRoute[] = [];
  const unlisted: string[] = [];
  for (const { method, path, guards, handlers } of routes) {
    if (method === "HEAD" || method === "OPTIONS") continue;
    const methods = method === "*" ? ANY : [method];
    const description = handlers.map(descriptionOf).find((each) => each !== undefined);
    const templates = LISTED.has(methods[0] ?? "") ? templatesOf(path) : undefined;
    if (templates === undefined) unlisted.push(`${method} ${path}`);
    for (const template of templates ?? []) {
      for (const each of methods)
        (method === "*" ? ofAnyMethod : listed).push({ method: each, template, guards, description });
    }
  }
  // The application's own routes come first, because they handle the request.
  return documentOf([...listed, ...ofAnyMethod, ...more], {
    ...options,
    unlisted: [...unlisted, ...(options.unlisted ?? [])],
  });
}
