import type { Random } from "../fuzz/random.ts";

/** Trace headers of a request, and the properties that its span must have. */
export interface TraceHeaders {
  /** The unusual property of the headers. */
  readonly name: string;
  readonly headers: Readonly<Record<string, string | string[]>>;
  /** The trace id in `traceparent`, valid or not. */
  readonly sent: string;
  /** Whether the span continues the trace of the caller. */
  readonly isContinued: boolean;
  /** The `tracestate` of the span. */
  readonly state: string | null;
  /** Whether the span is exported. */
  readonly isSampled: boolean;
}

/** Length of the longest `tracestate` that the service keeps, in characters. */
const MAX_STATE = 512;
const MANY_MEMBERS = 40;

/** Creates the headers with these ids, which are both lower-case hexadecimal with a letter in them. */
type Make = (traceId: string, spanId: string) => Omit<TraceHeaders, "name" | "sent">;

const makers: Readonly<Record<string, Make>> = {
  "a valid traceparent and tracestate": (traceId, spanId) =>
    continued({ traceparent: `00-${traceId}-${spanId}-01`, tracestate: "a=1,b=2" }, "a=1,b=2"),
  "flags 00": (traceId, spanId) => ({
    ...continued({ traceparent: `00-${traceId}-${spanId}-00` }),
    isSampled: false,
  }),
  "flags ff": (traceId, spanId) => continued({ traceparent: `00-${traceId}-${spanId}-ff` }),
  // Node removes white space around a value.
  "white space around": (traceId, spanId) => continued({ traceparent: ` \t00-${traceId}-${spanId}-01 ` }),
  "white space within": (traceId, spanId) => replaced(`00- ${traceId}-${spanId}-01`),
  "upper case": (traceId, spanId) => replaced(`00-${traceId.toUpperCase()}-${spanId}-01`),
  "version cc": (traceId, spanId) => replaced(`cc-${traceId}-${spanId}-01`),
  "version 01": (traceId, spanId) => replaced(`01-${traceId}-${spanId}-01`),
  "two traceparents": (traceId, spanId) =>
    replaced([`00-${traceId}-${spanId}-01`, `00-${traceId}-${spanId}-01`]),
  "40 members": (traceId, spanId) =>
    continued({ traceparent: `00-${traceId}-${spanId}-01`, tracestate: membersOf(MANY_MEMBERS) }),
  "512 characters": (traceId, spanId) => {
    const tracestate = stateOfLength(MAX_STATE);
    return continued({ traceparent: `00-${traceId}-${spanId}-01`, tracestate }, tracestate);
  },
  "513 characters": (traceId, spanId) =>
    continued({ traceparent: `00-${traceId}-${spanId}-01`, tracestate: stateOfLength(MAX_STATE + 1) }),
  "two tracestates": (traceId, spanId) =>
    continued({ traceparent: `00-${traceId}-${spanId}-01`, tracestate: ["a=1", "b=2"] }, "a=1, b=2"),
  "a repeated member": (traceId, spanId) =>
    continued({ traceparent: `00-${traceId}-${spanId}-01`, tracestate: "a=1,a=1" }, "a=1,a=1"),
};

/** The names of all kinds of headers. */
export const traceHeaderNames: readonly string[] = Object.keys(makers);

/** Returns headers of one kind, with random ids. */
export function traceHeaders(name: string, random: Random): TraceHeaders {
  const make = makers[name];
  if (make === undefined) throw new Error(`no trace headers are called ${name}`);
  const sent = hex(random, 32);
  return { name, sent, ...make(sent, hex(random, 16)) };
}

function continued(headers: TraceHeaders["headers"], state: string | null = null): ReturnType<Make> {
  return { headers, isContinued: true, state, isSampled: true };
}

/** Returns headers whose `traceparent` is invalid, so that their `tracestate` is ignored too. */
function replaced(traceparent: string | string[]): ReturnType<Make> {
  return { headers: { traceparent, tracestate: "a=1" }, isContinued: false, state: null, isSampled: true };
}

function membersOf(count: number): string {
  return Array.from({ length: count }, (_, index) => `k${index}=v`).join();
}

/** Returns a `tracestate` of three members with this length. */
function stateOfLength(length: number): string {
  const start = `a=${"x".repeat(200)},b=${"x".repeat(200)},c=`;
  return start + "x".repeat(length - start.length);
}

/** Returns digits that begin with a letter, so that their upper case is different. */
function hex(random: Random, digits: number): string {
  return `a${Array.from({ length: digits - 1 }, () => random.whole(16).toString(16)).join("")}`;
}
