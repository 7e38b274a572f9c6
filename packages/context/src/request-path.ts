import type { IncomingMessage } from "node:http";

const SLASH = 0x2f;
const QUESTION_MARK = 0x3f;
const HASH = 0x23;

/**
 * Returns a request's path without the query (ERR-4), as the client sent it: with the prefixes that routers remove, and
 * without scheme and host if the target was an absolute URL. Decodes nothing.
 */
export function pathOf(req: IncomingMessage): string {
  const { originalUrl } = req as IncomingMessage & { readonly originalUrl?: unknown };
  return pathOfTarget(typeof originalUrl === "string" ? originalUrl : (req.url ?? ""));
}

/** Returns the path in a request target; `/` if it has none. */
export function pathOfTarget(target: string): string {
  let start = 0;
  if (target.charCodeAt(0) !== SLASH) {
    const scheme = target.indexOf("://");
    if (scheme > 0 && !target.slice(0, scheme).includes("?")) {
      start = target.slice(scheme + 3).search(/[/?#]/);
      if (start === -1) return "/";
      start += scheme + 3;
    }
  }
  let end = start;
  while (end < target.length) {
    const code = target.charCodeAt(end);
    if (code === QUESTION_MARK || code === HASH) break;
    end += 1;
  }
  return start === end ? "/" : target.slice(start, end);
}

/** Scheme, host and port, in the only form for which Express is certain to read the same path. */
const ORIGIN = /^https?:\/\/[\w.~:[\]%-]+(?=[/?#]|$)/i;

/**
 * Returns the path in a request target, for comparison with the paths of routes. Removes scheme and host only from http and
 * https URLs with a plain host. Returns any other target whole, so that it matches no route: Express may read a different
 * path in it, and would route the request past a guard.
 */
export function routedPathOf(target: string): string {
  return target.charCodeAt(0) === SLASH || ORIGIN.test(target) ? pathOfTarget(target) : target;
}
