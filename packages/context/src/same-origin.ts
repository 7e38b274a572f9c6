import type { IncomingMessage } from "node:http";

/**
 * Returns whether a request was sent by a page of this origin (AUTH-34). Check this before a change that is authorised
 * by credentials that browsers send automatically. `Sec-Fetch-Site`, which no page can set, decides if it is present.
 * Otherwise the host of `Origin` must equal the request's `Host`, and the scheme of `Origin` must be https if the request
 * used https. Returns false if both headers are missing.
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

// Behind a proxy that terminates TLS, only Express with `trust proxy` knows the scheme.
function isSecure(req: IncomingMessage & { readonly protocol?: unknown }): boolean {
  return (req.socket as { readonly encrypted?: unknown }).encrypted === true || req.protocol === "https";
}
