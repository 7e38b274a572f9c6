import type { IncomingMessage } from "node:http";

/**
 * Whether a page of this origin sent a request (AUTH-34). Check it before a change that a browser's automatic credentials
 * authorise. `Sec-Fetch-Site`, which no page can set, decides when it is present. Otherwise `Origin` must name the `Host` of
 * the request, with https for a request over https. Returns false when both headers are missing.
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

// Behind a proxy that ends TLS, only Express with `trust proxy` knows the scheme.
function isSecure(req: IncomingMessage & { readonly protocol?: unknown }): boolean {
  return (req.socket as { readonly encrypted?: unknown }).encrypted === true || req.protocol === "https";
}
