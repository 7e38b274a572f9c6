import type { ServerResponse } from "node:http";

/** Answers with a page of one person: no cache keeps it, and no other site is told its address. */
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
    // Not helmet's `no-referrer`: with that, browsers send `Origin: null` along with the forms of the page.
    "Referrer-Policy": "same-origin",
    ...headers,
  });
  res.end(body);
}

/** Sends a browser on, by GET. */
export function seeOther(res: ServerResponse, path: string): void {
  res.writeHead(303, { Location: path, "Cache-Control": "no-store" }).end();
}
