import { isSlug } from "./slug.ts";

/**
 * The path of a request target without its query: nothing is decoded or joined. A target that is a whole URL
 * (`GET http://host/path`) loses scheme and host, and backslashes are slashes, as Express has it where a target is not
 * a mere path.
 */
export function pathOf(target: string): string {
  const slashed = target.includes("\\") ? target.replaceAll("\\", "/") : target;
  const start = slashed.charCodeAt(0) === SLASH ? 0 : authorityEnd(slashed);
  const query = slashed.indexOf("?", start);
  return slashed.slice(start, query === -1 ? slashed.length : query);
}

/** The host of a target that is a whole URL; undefined for a path. */
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
 * The tenant that a path names: the whole segment behind the prefix, when it is a slug as it stands (TEN-14). The
 * prefix is compared without regard to case, because routers do so unless they are told otherwise, and a name that
 * was overlooked would not have to be backed by anybody.
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
