import type { IncomingMessage } from "node:http";

/**
 * Whether a page of this very origin sent a request (AUTH-34): what to ask before anything is changed for a browser that
 * puts credentials on by itself. `Sec-Fetch-Site`, which no page can set, decides where it is sent; otherwise `Origin` does,
 * which has to name the `Host` of the request, and https where the request came by it. A request with neither header is of no
 * origin: a page of ours sends one of them.
 */
export function isOfThisOrigin(req: IncomingMessage): boolean {
  const site = req.headers["sec-fetch-site"];
  return site === undefined ? isOwnOrigin(req) : site === "same-origin";
}

function isOwnOrigin(req: IncomingMessage): boolean {
  const { origin, host = req.headers[":authority"] } = req.headers;
  if (typeof origin !== "string" || typeof host !== "string") return false;
  const page = URL.parse(origin);
  if (page === null || page.origin !== origin) return false;
  if (page.protocol !== "https:" && (isSecure(req) || page.protocol !== "http:")) return false;
  return URL.parse(`${page.protocol}//${host}`)?.host === page.host;
}

// Behind a proxy that ends TLS only Express can tell, when it was told which proxy to trust.
function isSecure(req: IncomingMessage & { readonly protocol?: unknown }): boolean {
  return (req.socket as { readonly encrypted?: unknown }).encrypted === true || req.protocol === "https";
}
