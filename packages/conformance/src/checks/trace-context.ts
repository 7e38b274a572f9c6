import type { IncomingHttpHeaders } from "node:http";
import type { Answer } from "../answer.ts";
import { grant } from "../grant.ts";
import type { HttpClient } from "../http-client.ts";
import type { Kit } from "../kit.ts";
import { requestOf, withExtra } from "../requests.ts";
import { whereOf } from "./export-state.ts";
import { linesAbout } from "./logs.ts";

/** The id of the span in which the kit sends its requests. */
export const callerSpanId = "00f067aa0ba902b7";

export function traceparent(traceId: string, flags = "01"): string {
  return `00-${traceId}-${callerSpanId}-${flags}`;
}

export const tracestate = "vendor=opaque,other=1";

/** Returns a unique trace id of 32 hex digits. */
export function newTraceId(kit: Kit): string {
  return `a${kit.unique()}${kit.unique()}`
    .replaceAll(/[^0-9a-f]/g, "")
    .padEnd(32, "a")
    .slice(0, 32);
}

interface Traced {
  /** The trace id as sent; in an invalid traceparent it may be malformed. */
  readonly traceId: string;
  /** Whether the log contains a line about the request, with or without the trace id. */
  readonly inLog: boolean;
  readonly logged: boolean;
  readonly loggedAsTraceId: boolean;
  readonly sent: IncomingHttpHeaders | undefined;
  /** The request id that was sent and the one that the service uses. */
  readonly ids: readonly string[];
}

/**
 * Sends a request with a trace context, then reads its log lines and the service's outbound call. The log is that of the
 * service itself, so a request to the second replica has no lines.
 */
export async function traced(
  kit: Kit,
  make: (traceId: string) => string,
  at: HttpClient = kit.http,
): Promise<Traced> {
  const header = make(newTraceId(kit));
  const traceId = header.split("-")[1] ?? header;
  const requestId = kit.unique();
  const headers = [
    ["X-Request-ID", requestId],
    ["traceparent", header],
    ["tracestate", tracestate],
  ] as const;
  let sent: IncomingHttpHeaders | undefined;
  let answer: Answer;
  const { outbound } = kit.settings.probes;
  if (outbound === undefined) {
    answer = await at.send({ path: `/${kit.unique()}`, headers });
  } else {
    const echo = await kit.echo();
    const call = requestOf(outbound);
    const path = call.path.replaceAll("{url}", encodeURIComponent(echo.urlFor(requestId)));
    answer = await at.send(withExtra(call, { path, headers, token: grant(kit) }));
    sent = echo.headersOf(requestId);
  }
  const ownId = answer.header("x-request-id") ?? requestId;
  const about = at === kit.http ? await linesAbout(kit, ownId) : [];
  const has = (value: unknown): boolean =>
    typeof value === "string" && value.toLowerCase().includes(traceId.toLowerCase());
  return {
    traceId,
    ids: [requestId, ownId],
    sent,
    inLog: about.length > 0,
    logged: about.some(({ text }) => has(text)),
    loggedAsTraceId: about.some(({ value }) => has(value?.["trace_id"])),
  };
}

/** Sends a request with a valid trace context; all checks share the result. */
export function valid(kit: Kit, at: HttpClient = kit.http): Promise<Traced> {
  return kit.once(`valid trace${whereOf(kit, at)}`, () => traced(kit, (id) => traceparent(id), at));
}

/** Whether the log or the outbound call shows that the service read the request's trace context. */
export function wasRead({ logged, sent, traceId }: Traced): boolean {
  return logged || String(sent?.["traceparent"]).includes(traceId);
}
