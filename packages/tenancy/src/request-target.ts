import type { IncomingMessage } from "node:http";
import { isSlug } from "./slug.ts";

const SLASH = 0x2f;
const HASH = 0x23;
const LONGEST_SLUG = 63;

// Scheme and host of an absolute URL.
const ORIGIN = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/([^/?#]*)/;

/** Returns the target of a request as sent, before Express removes a mount's prefix from it. */
export function targetOf(req: IncomingMessage): string {
  const { originalUrl } = req as IncomingMessage & { readonly originalUrl?: unknown };
  return typeof originalUrl === "string" ? originalUrl : (req.url ?? "");
}

/**
 * Returns the host that a request was sent to, with its port. Returns undefined when the request names two different hosts,
 * because a proxy may have routed by the other host. Ignores `X-Forwarded-Host`.
 */
export function hostOf(req: IncomingMessage): string | undefined {
  const host = hostHeader(req);
  const target = targetOf(req);
  const authority = target.startsWith("/") ? undefined : ORIGIN.exec(target)?.[1];
  return authority === undefined || authority.toLowerCase() === host?.toLowerCase() ? host : undefined;
}

function hostHeader({ headers, rawHeaders }: IncomingMessage): string | undefined {
  const { host } = headers;
  const authority = headers[":authority"];
  if (typeof authority === "string") return host === undefined || host === authority ? authority : undefined;
  let count = 0;
  // Node silently keeps the first of several Host headers.
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    // Compare the usual letter case first: it avoids a new string per header.
    if (name === "Host" || (name?.length === 4 && name.toLowerCase() === "host")) count += 1;
  }
  return count > 1 ? undefined : host;
}

/**
 * Returns the path of a request target without its query, and decodes nothing. Removes scheme and host from an absolute
 * URL (`GET http://host/path`). Reads a backslash as a slash, as Express does for a target that is not a plain path.
 */
export function pathOf(target: string): string {
  const slashed = target.includes("\\") ? target.replaceAll("\\", "/") : target;
  const start = slashed.charCodeAt(0) === SLASH ? 0 : (ORIGIN.exec(slashed)?.[0].length ?? 0);
  const query = slashed.indexOf("?", start);
  return slashed.slice(start, query === -1 ? slashed.length : query);
}

/**
 * Returns the tenant that a path names: the segment after the prefix, if it is a slug without decoding (TEN-14). Ignores the
 * case of the prefix, as routers do by default: a name that this function misses would go unchecked.
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
