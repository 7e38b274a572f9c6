import type { TraceContext } from "./types.ts";

const TRACEPARENT_LENGTH = 55;
const MAX_TRACESTATE_LENGTH = 512;
const MAX_TRACESTATE_MEMBERS = 32;

const DASH = 0x2d;
const ZERO = 0x30;
const NINE = 0x39;
const LOWER_A = 0x61;
const LOWER_F = 0x66;

/**
 * Returns the trace context of a caller, or undefined for an invalid `traceparent`, whose `tracestate` is then ignored too
 * (COR-10, COR-11). If only the `tracestate` is invalid, drops only that. Keeps valid values unchanged.
 *
 * @param traceparent the header; Node joins repeated headers into one value, which is invalid
 * @param tracestate the header; Node joins repeated headers in order, as the W3C recommendation requires
 */
export function parseTraceparent(
  traceparent: string | undefined,
  tracestate?: string,
): TraceContext | undefined {
  if (traceparent === undefined || !isTraceparent(traceparent)) return undefined;
  return {
    traceId: traceparent.slice(3, 35),
    traceparent,
    tracestate: tracestate !== undefined && isTracestate(tracestate) ? tracestate : undefined,
  };
}

/** Returns whether the span of a trace context is recorded: the last bit of its flags. */
export function isSampled({ traceparent }: TraceContext): boolean {
  return (Number.parseInt(traceparent.slice(-2), 16) & 1) === 1;
}

// The form is 00-<32 hex>-<16 hex>-<2 hex>. Checking each character takes half the time of a regular expression.
function isTraceparent(value: string): boolean {
  return (
    value.length === TRACEPARENT_LENGTH &&
    value.startsWith("00-") &&
    isHex(value, 3, 35) &&
    value.charCodeAt(35) === DASH &&
    isHex(value, 36, 52) &&
    value.charCodeAt(52) === DASH &&
    isHex(value, 53, 55) &&
    !isZero(value, 3, 35) &&
    !isZero(value, 36, 52)
  );
}

function isHex(value: string, start: number, end: number): boolean {
  for (let index = start; index < end; index++) {
    const code = value.charCodeAt(index);
    if (!((code >= ZERO && code <= NINE) || (code >= LOWER_A && code <= LOWER_F))) return false;
  }
  return true;
}

function isZero(value: string, start: number, end: number): boolean {
  let index = start;
  while (index < end && value.charCodeAt(index) === ZERO) index++;
  return index === end;
}

// Matches one list member with optional white space around it; the grammar allows empty members.
const MEMBER = /^[ \t]*(?:([a-z0-9][a-z0-9_\-*/@]{0,255})=([ -+\--<>-~]{0,255}[!-+\--<>-~])[ \t]*)?$/;

/**
 * Returns whether a `tracestate` may be passed on: 1 to 32 members `key=value` as in the W3C recommendation (level 2),
 * in at most 512 characters.
 */
export function isTracestate(value: string): boolean {
  if (value.length > MAX_TRACESTATE_LENGTH) return false;
  let members = 0;
  for (const text of value.split(",")) {
    if (text === "") continue;
    const match = MEMBER.exec(text);
    if (match === null) return false;
    if (match[1] !== undefined) members++;
  }
  return members > 0 && members <= MAX_TRACESTATE_MEMBERS;
}
