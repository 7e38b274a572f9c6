import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { connectionTokens, HOP_BY_HOP } from "./hop-by-hop.ts";

/**
 * Sets the headers of a target's response on the response to the client. A header of the target replaces the same header of
 * the service, except that `Set-Cookie` and `Vary` are appended, and that the service keeps its `X-Request-ID`.
 *
 * @returns whether the target closes its connection
 */
export function copyHeaders(res: ServerResponse, headers: IncomingHttpHeaders): boolean {
  const named = connectionTokens(headers.connection);
  for (const name in headers) {
    const value = headers[name];
    if (value === undefined || HOP_BY_HOP.has(name) || named?.has(name) === true) continue;
    if (name.startsWith("proxy-")) continue;
    switch (name) {
      case "x-request-id":
        if (res.hasHeader(name)) continue;
        break;
      case "set-cookie":
      case "vary":
        if (!res.hasHeader(name)) break;
        res.appendHeader(name, value);
        continue;
    }
    res.setHeader(name, value);
  }
  return headers.connection === "close" || named?.has("close") === true;
}
