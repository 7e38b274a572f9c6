import type { IncomingMessage } from "node:http";
import { authorityOf } from "./request-target.ts";

/** Returns the target of a request as sent, before Express removes a mount's prefix from it. */
export function targetOf(req: IncomingMessage): string {
  const { originalUrl } = req as IncomingMessage & { readonly originalUrl?: unknown };
  return typeof originalUrl === "string" ? originalUrl : (req.url ?? "");
}

/**
 * Returns the host that a request was sent to, with its port. Returns undefined when the request names two different
 * hosts, because a proxy may have routed by the other one. Ignores `X-Forwarded-Host`.
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
  // Node silently keeps the first of several Host headers.
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    // Compare the usual spelling first: it avoids a new string per header.
    if (name === "Host" || (name?.length === 4 && name.toLowerCase() === "host")) count += 1;
  }
  return count > 1 ? undefined : host;
}
