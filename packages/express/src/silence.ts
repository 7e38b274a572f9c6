import type { ServerResponse } from "node:http";

/**
 * Makes an answered response deaf. Its handler is still running and will answer some time: without this, that late
 * `res.json()` would throw "headers already sent" from wherever it is called, often outside of everything that
 * catches, and end the process.
 */
export function silence(res: ServerResponse): void {
  const itself = (): ServerResponse => res;
  res.setHeader = itself;
  res.appendHeader = itself;
  res.setHeaders = itself;
  res.removeHeader = () => undefined;
  res.writeHead = itself;
  res.flushHeaders = () => undefined;
  res.write = () => true;
  res.end = itself;
}
