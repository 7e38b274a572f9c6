import type { IncomingHttpHeaders } from "node:http";
import { backoff } from "@svc/resilience";
import type { Answer } from "./exchange.ts";
import { UpstreamError } from "./failures.ts";

/** Idempotent methods (RFC 9110, section 9.2.2). */
const IDEMPOTENT = new Set(["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"]);
const REPEATED_STATUSES = new Set([429, 502, 503, 504]);
/** A call is not retried if `Retry-After` exceeds this time. */
const LONGEST_WAIT_MS = 30_000;

const delayOf = backoff({ baseMs: 200, minMs: 100, maxMs: 2_000 });

/** Returns whether a call may be sent twice. */
export function mayRepeat(method: string, headers: Readonly<Record<string, unknown>>): boolean {
  if (IDEMPOTENT.has(method)) return true;
  return Object.keys(headers).some((name) => name.toLowerCase() === "idempotency-key");
}

/**
 * Returns how long to wait before the next try, in milliseconds; undefined when the outcome is final.
 *
 * @param sent number of tries so far
 */
export function waitAfter(outcome: Answer | UpstreamError, sent: number): number | undefined {
  if (outcome instanceof UpstreamError) return outcome.fault === "connection" ? delayOf(sent) : undefined;
  if (!REPEATED_STATUSES.has(outcome.status)) return undefined;
  const asked = retryAfterMs(outcome.headers);
  if (asked === undefined) return delayOf(sent);
  return asked <= LONGEST_WAIT_MS ? Math.max(asked, delayOf(sent)) : undefined;
}

function retryAfterMs({ "retry-after": header }: IncomingHttpHeaders): number | undefined {
  // undici returns a header that is sent twice as a list.
  const [text] = [header].flat();
  if (text === undefined) return undefined;
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  // Only the date format of asctime() names no time zone; it is in UTC too (RFC 9110, section 5.6.7).
  const at = Date.parse(/ \d{4}$/.test(text) ? `${text} GMT` : text);
  return Number.isNaN(at) ? undefined : Math.max(0, at - Date.now());
}
