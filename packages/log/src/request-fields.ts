import type { IncomingMessage, ServerResponse } from "node:http";

const longestPath = 2048;

/** The path that the client asked for: without mounts taken off, without query or authority, cut at 2,048. */
export function pathOf(req: IncomingMessage): string {
  let target = (req as { originalUrl?: string }).originalUrl ?? req.url ?? "";
  if (target.charCodeAt(0) !== 0x2f) target = withoutAuthority(target);
  for (let i = 0; i < target.length && i < longestPath; i++) {
    const code = target.charCodeAt(i);
    if (code === 0x3f || code === 0x23) return target.slice(0, i);
  }
  return target.length > longestPath ? target.slice(0, longestPath) : target;
}

// A proxy's absolute form, http://host/path, may carry user-info.
function withoutAuthority(target: string): string {
  const scheme = target.indexOf("://");
  if (scheme === -1) return target;
  const slash = target.indexOf("/", scheme + 3);
  return slash === -1 ? "/" : target.slice(slash);
}

/** The status that was sent; 0 when the connection went away before any was. */
export function statusOf(res: ServerResponse, aborted: boolean): number {
  return aborted && !res.headersSent ? 0 : res.statusCode;
}

/** Milliseconds since `startedAt`, which comes from `performance.now()`, with at most three decimals. */
export function millisecondsSince(startedAt: number): number {
  return Math.round((performance.now() - startedAt) * 1000) / 1000;
}
