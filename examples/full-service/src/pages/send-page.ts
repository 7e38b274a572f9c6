import type { ServerResponse } from "node:http";

/** Sends a personal page: caches do not store it, and other sites do not learn its URL. */
export function sendPage(
  res: ServerResponse,
  status: number,
  page: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  const body = Buffer.from(page);
  res.writeHead(status, {
    "Content-Type": "text/html; charset=utf-8",
    "Content-Length": body.length,
    "Cache-Control": "no-store",
    // Do not use helmet's `no-referrer`: with it, browsers send `Origin: null` with the forms of the page.
    "Referrer-Policy": "same-origin",
    ...headers,
  });
  res.end(body);
}

/** Redirects a browser with status 303, so that it requests the path with GET. */
export function seeOther(res: ServerResponse, path: string): void {
  res.writeHead(303, { Location: path, "Cache-Control": "no-store" }).end();
}
