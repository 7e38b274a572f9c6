import type { IncomingMessage, ServerResponse } from "node:http";

const longestPath = 2048;

/** Returns the path that the client sent, with mount paths, without query and authority, truncated to 2,048 characters. */
export function pathOf(req: IncomingMessage): string {
  let target = (req as { originalUrl?: string }).originalUrl ?? req.url ?? "";
  if (target.charCodeAt(0) !== 0x2f) target = withoutAuthority(target);
  for (let i = 0; i < target.length && i < longestPath; i++) {
    const code = target.charCodeAt(i);
    if (code === 0x3f || code === 0x23) return target.slice(0, i);
  }
  return target.length > longestPath ? target.slice(0, longestPath) : target;
}

// The absolute form for proxies, http://host/path, may contain user-info.
function withoutAuthority(target: string): string {
  const scheme = target.indexOf("://");
  if (scheme === -1) return target;
  const slash = target.indexOf("/", scheme + 3);
  return slash === -1 ? "/" : target.slice(slash);
}

/** Returns the status that was sent; 0 when the connection closed before one was sent. */
export function statusOf(res: ServerResponse, aborted: boolean): number {
  return aborted && !res.headersSent ? 0 : res.statusCode;
}

/** Returns the milliseconds since `startedAt`, a value of `performance.now()`, with at most three decimals. */
export function millisecondsSince(startedAt: number): number {
  return Math.round((performance.now() - startedAt) * 1000) / 1000;
}
