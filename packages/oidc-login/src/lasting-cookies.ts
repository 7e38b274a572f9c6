import type { ServerResponse } from "node:http";

/**
 * Adds `Set-Cookie` lines that survive later changes of that header. An application that sets its own session cookie with
 * `setHeader` or `writeHead` would otherwise remove them.
 */
export function setLastingCookies(res: ServerResponse, lines: readonly string[]): void {
  if (lines.length === 0 || res.headersSent) return;
  add(res, lines);
  // oxlint-disable-next-line typescript/unbound-method -- called below with the response as `this`
  const writeHead = res.writeHead as (...args: unknown[]) => ServerResponse;
  res.writeHead = ((...args: unknown[]) => {
    const last = args.length - 1;
    const headers = args[last];
    if (args.length > 1 && typeof headers === "object" && headers !== null) {
      args[last] = Array.isArray(headers) ? inList(headers, lines) : inObject(headers, lines);
    }
    if (!res.headersSent) add(res, lines);
    return writeHead.apply(res, args);
  }) as typeof res.writeHead;
}

function cookieLines(res: ServerResponse): string[] {
  const value = res.getHeader("Set-Cookie");
  return value === undefined ? [] : Array.isArray(value) ? value.map(String) : [String(value)];
}

function add(res: ServerResponse, lines: readonly string[]): void {
  const present = cookieLines(res);
  const missing = lines.filter((line) => !present.includes(line));
  if (missing.length > 0) res.setHeader("Set-Cookie", [...present, ...missing]);
}

function inObject(headers: object, lines: readonly string[]): object {
  const entries = Object.entries(headers).map(([name, value]: [string, unknown]) =>
    isSetCookie(name) ? [name, [...(Array.isArray(value) ? value : [value]), ...lines]] : [name, value],
  );
  return Object.fromEntries(entries) as object;
}

function inList(headers: readonly unknown[], lines: readonly string[]): readonly unknown[] {
  const pairs = Array.isArray(headers[0]);
  const names = pairs
    ? headers.map((pair) => (pair as readonly unknown[])[0])
    : headers.filter((_each, index) => index % 2 === 0);
  if (!names.some(isSetCookie)) return headers;
  const more = lines.map((line): readonly [string, string] => ["Set-Cookie", line]);
  return [...headers, ...(pairs ? more : more.flat())];
}

function isSetCookie(name: unknown): boolean {
  return typeof name === "string" && name.toLowerCase() === "set-cookie";
}
