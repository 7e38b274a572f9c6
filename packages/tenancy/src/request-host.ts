import type { IncomingMessage } from "node:http";
import { authorityOf } from "./request-target.ts";

/** The target of a request as it was sent, before any router cut a prefix off. */
export function targetOf(req: IncomingMessage): string {
  const { originalUrl } = req as IncomingMessage & { readonly originalUrl?: unknown };
  return typeof originalUrl === "string" ? originalUrl : (req.url ?? "");
}

/**
 * The host that a request was sent to, with its port; undefined where the request says it twice and not in the same
 * way, because somebody on the way may have gone by the other one. `X-Forwarded-Host` does not count.
 */
export function hostOf(req: IncomingMessage): string | undefined {
  const host = hostHeader(req);
  const authority = authorityOf(targetOf(req));
  return authority === undefined || authority.toLowerCase() === host?.toLowerCase() ? host : undefined;
}

function hostHeader({ headers, rawHeaders }: IncomingMessage): string | undefined {
  const { host } = headers;
  const authority = headers[":authority"];
  if (typeof authority === "string") return host === undefined || host === authority ? authority : undefined;
  let count = 0;
  // Node keeps the first of several without a word.
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    // As nearly everybody writes it first: a comparison makes no string.
    if (name === "Host" || (name?.length === 4 && name.toLowerCase() === "host")) count += 1;
  }
  return count > 1 ? undefined : host;
}
