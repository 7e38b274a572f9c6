import type { Logger, Middleware } from "@svc/context";
import { formBody } from "@svc/json-body";
import type { FrameworkRoute } from "@svc/plugin";
import type { AnyConfig } from "../configure.ts";
import { allBodyPaths, readsOwnBody } from "../own-bodies.ts";
import type { Header } from "../seeded-headers.ts";
import type { ResolvedServiceOptions } from "../service-options.ts";
import { errorPages } from "./error-pages.ts";
import { pageHeaders, pagePolicy } from "./page-headers.ts";
import { publicFiles } from "./public-files.ts";
import { publicFolderOf } from "./public-folder.ts";
import { loginCallbacks, requireSameOrigin } from "./same-origin.ts";

/** Time limit of `errorPage`, in milliseconds. */
const errorPageTimeoutMs = 1_000;

/** The parts of the edge that only the kind `web` has. */
export interface WebEdge {
  readonly pageHeaders: readonly Header[];
  readonly sameOrigin: Middleware;
  readonly formBody: Middleware;
}

/** Returns the page headers, the same-origin check and the form parser of a service of the kind `web` (PROF-7). */
export function webEdge(code: ResolvedServiceOptions, { service, plugin }: AnyConfig): WebEdge {
  const isOwnBody = readsOwnBody(allBodyPaths(service, code));
  return {
    pageHeaders,
    sameOrigin: requireSameOrigin(loginCallbacks(plugin["auth"]), isOwnBody),
    formBody: formBody({ maxBytes: service.maxBodyBytes }),
  };
}

/** Returns the middleware that serves public files; none if there is no folder. */
export function webFiles(
  { publicDir, publicMaxAgeSeconds = 3_600 }: ResolvedServiceOptions,
  { service }: AnyConfig,
  routes: readonly FrameworkRoute[],
): readonly Middleware[] {
  const { folder } = publicFolderOf(publicDir);
  if (folder === undefined) return [];
  // `/info` has no route in prod, and a file must not take its place there.
  const except = new Set(["/info", ...routes.map(({ path }) => path)]);
  const policy = service.securityHeaders ? pagePolicy : undefined;
  return [publicFiles({ folder, maxAgeSeconds: publicMaxAgeSeconds, except, policy })];
}

/** Returns the middleware that sends error pages; undefined without the option `errorPage`. */
export function webErrors({ kind, errorPage, work }: ResolvedServiceOptions, logger: Logger) {
  if (kind !== "web" || errorPage === undefined || work.role === "worker") return undefined;
  return errorPages({ errorPage, timeoutMs: errorPageTimeoutMs, logger });
}
