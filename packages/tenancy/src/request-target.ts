import { isSlug } from "./slug.ts";

/**
 * Returns the path of a request target without its query, and decodes nothing. Removes scheme and host from an absolute
 * URL (`GET http://host/path`). Reads a backslash as a slash, as Express does for a target that is not a plain path.
 */
export function pathOf(target: string): string {
  const slashed = target.includes("\\") ? target.replaceAll("\\", "/") : target;
  const start = slashed.charCodeAt(0) === SLASH ? 0 : authorityEnd(slashed);
  const query = slashed.indexOf("?", start);
  return slashed.slice(start, query === -1 ? slashed.length : query);
}

/** Returns the host of a target that is an absolute URL, or undefined for a path. */
export function authorityOf(target: string): string | undefined {
  if (target.charCodeAt(0) === SLASH) return undefined;
  const scheme = schemeEnd(target);
  return scheme === -1 ? undefined : target.slice(scheme, authorityEnd(target));
}

const SLASH = 0x2f;

const SCHEME = /^[A-Za-z][A-Za-z0-9+.-]*:\/\//;

function schemeEnd(target: string): number {
  return SCHEME.exec(target)?.[0].length ?? -1;
}

function authorityEnd(target: string): number {
  const scheme = schemeEnd(target);
  if (scheme === -1) return 0;
  const length = target.slice(scheme).search(/[/?#]/);
  return length === -1 ? target.length : scheme + length;
}

/**
 * Returns the tenant that a path names: the segment after the prefix, when that is a slug without decoding (TEN-14).
 * Ignores the case of the prefix, as routers do by default: a name that this function misses would go unchecked.
 *
 * @param path without a query
 * @param prefix in lower case, with a slash at both ends
 */
export function tenantInPath(path: string, prefix: string): string | undefined {
  const start = prefix.length;
  if (!path.startsWith(prefix) && path.slice(0, start).toLowerCase() !== prefix) return undefined;
  let end = start;
  while (end < path.length && end - start <= LONGEST_SLUG) {
    const code = path.charCodeAt(end);
    if (code === SLASH || code === HASH) break;
    end += 1;
  }
  const segment = path.slice(start, end);
  return isSlug(segment) ? segment : undefined;
}

const HASH = 0x23;
const LONGEST_SLUG = 63;
