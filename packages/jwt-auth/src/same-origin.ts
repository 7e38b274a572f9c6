import type { IncomingMessage } from "node:http";

const SAFE_METHODS: ReadonlySet<string | undefined> = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Whether a request that a browser may have put credentials on by itself changes nothing, or comes from a page of this
 * origin (AUTH-34). `Sec-Fetch-Site`, which no page can set, decides where it is sent; otherwise `Origin` does.
 * A request with neither is refused: a page of ours sends one of them.
 */
export function mayCarryCookies(req: IncomingMessage): boolean {
  if (SAFE_METHODS.has(req.method)) return true;
  const site = req.headers["sec-fetch-site"];
  return site === undefined ? isOwnOrigin(req) : site === "same-origin";
}

function isOwnOrigin(req: IncomingMessage): boolean {
  const { origin, host = req.headers[":authority"] } = req.headers;
  if (typeof origin !== "string" || typeof host !== "string") return false;
  const page = parsed(origin);
  if (page === undefined || page.origin !== origin) return false;
  if (page.protocol !== "https:" && (isSecure(req) || page.protocol !== "http:")) return false;
  return parsed(`${page.protocol}//${host}`)?.host === page.host;
}

// Behind a proxy that ends TLS only Express can tell, when it was told which proxy to trust.
function isSecure(req: IncomingMessage & { readonly protocol?: unknown }): boolean {
  return (req.socket as { readonly encrypted?: unknown }).encrypted === true || req.protocol === "https";
}

function parsed(url: string): URL | undefined {
  return URL.parse(url) ?? undefined;
}
