import { createRequire } from "node:module";
import { type Middleware, pathOf, setRouteTemplate } from "@svc/context";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { static as ServeStatic } from "express";

const { static: serveStatic } = createRequire(import.meta.url)("express") as { static: typeof ServeStatic };

/** Options of `publicFiles()`. */
export interface PublicFilesOptions {
  /** Absolute path of the folder. */
  readonly folder: string;
  /** Seconds for which browsers and caches may use a file without revalidating it. */
  readonly maxAgeSeconds: number;
  /** Paths that are never a file. */
  readonly except: ReadonlySet<string>;
  /** `Content-Security-Policy` of every file; undefined: none. */
  readonly policy: string | undefined;
}

/**
 * Serves the files of a folder for GET and HEAD, and passes on all other requests. Supports conditional requests and ranges.
 * Passes on a path with a dot segment, an empty segment, an encoded slash or a needless escape, so that each file has exactly
 * one path, which other middleware can compare. Only `index.html` of a folder has two paths.
 */
export function publicFiles({ folder, maxAgeSeconds, except, policy }: PublicFilesOptions): Middleware {
  const serve = serveStatic(folder, {
    maxAge: maxAgeSeconds * 1000,
    dotfiles: "ignore",
    redirect: false,
    setHeaders(res: ServerResponse) {
      setRouteTemplate(res.req, "public/*");
      // Browsers also apply the policy to a script that runs as a worker.
      if (policy !== undefined) res.setHeader("Content-Security-Policy", policy);
    },
  }) as (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void;
  return function publicFilesMiddleware(req, res, next) {
    const path = pathOf(req);
    if (except.has(path) || !path.slice(1).split("/").every(isPlainSegment)) next();
    else serve(req, res, next);
  };
}

function isPlainSegment(segment: string, index: number, all: readonly string[]): boolean {
  if (segment === "") return index === all.length - 1;
  return !segment.startsWith(".") && !respelled.test(segment);
}

// NUL, the slashes, and the characters that need no escape: letters, digits and -._~ (RFC 3986, section 2.3).
const respelled = /\\|%(?:00|2[def]|3\d|4[1-9a-f]|5[0-9acf]|6[1-9a-f]|7[0-9ae])/i;
