import type { Answer } from "./exchange.ts";
import { UpstreamError } from "./failures.ts";

const REDIRECTS = new Set([301, 302, 303, 307, 308]);

/**
 * Returns the path that a response redirects to; undefined if it is not a redirect.
 *
 * @param baseUrl the only origin that a redirect may lead to, because calls carry the caller's token (HTTP-3)
 * @throws UpstreamError for another origin, and for a location that is not a URL
 */
export function redirectOf({ status, headers }: Answer, baseUrl: string, path: string): string | undefined {
  const { location } = headers;
  if (!REDIRECTS.has(status) || location === undefined) return undefined;
  const target = URL.parse(location, String(new URL(path, baseUrl)));
  if (target?.origin === new URL(baseUrl).origin) return target.pathname + target.search;
  throw new UpstreamError("invalid", "a redirect to another origin", { status });
}
