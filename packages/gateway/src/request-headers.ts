import { activeSpanTrace, contextOf, hasOpenTelemetry, type TraceContext } from "@svc/context";
import { propagationHeaders } from "@svc/request-id";
import type { IncomingMessage } from "node:http";
import type { Forwarding } from "./forwarding.ts";
import { connectionTokens, HOP_BY_HOP } from "./hop-by-hop.ts";
import { plainAddress } from "./trusted-proxies.ts";

/** Headers that describe the client's connection, and those that the gateway sets itself. */
const DROPPED: ReadonlySet<string> = new Set([
  ...HOP_BY_HOP,
  "host",
  "expect",
  "forwarded",
  "via",
  "http2-settings",
  // CGI programs would receive this header as the variable HTTP_PROXY.
  "proxy",
  "x-forwarded-for",
  "x-forwarded-proto",
  "x-forwarded-host",
]);

/** Headers that a client must not be able to remove by naming them in `Connection`. */
const KEPT: ReadonlySet<string> = new Set(["authorization", "content-length", "cookie", "origin"]);

/**
 * Returns the headers of a request for its target, names and values alternating, in the client's order. Without
 * `preserveHost`, `Host` is missing: undici sets it.
 *
 * @param forwarding states whether the peer of the socket may set `X-Forwarded-*`, and whether the target gets the client's
 *   `Host`
 * @param trace the trace of the gateway's span; without one the client's trace headers are passed on (GW-1, GW-2)
 */
export function requestHeaders(
  req: IncomingMessage,
  { isTrusted, route }: Pick<Forwarding, "isTrusted" | "route">,
  trace: TraceContext | undefined,
): string[] {
  const own = ownHeaders(req, trace);
  const named = connectionTokens(req.headers.connection);
  const { rawHeaders } = req;
  const headers: string[] = [];
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] as string;
    const known = name.toLowerCase();
    if (DROPPED.has(known) || isReplaced(known, own) || isForged(known, isTrusted)) continue;
    if (named !== undefined && named.has(known) && !KEPT.has(known)) continue;
    headers.push(name, rawHeaders[at + 1] as string);
  }
  for (const name in own) headers.push(name, own[name] as string);
  const { host } = req.headers;
  if (route.preserveHost && host) headers.push("Host", host);
  addForwarded(headers, req, isTrusted);
  return headers;
}

/** Returns `X-Request-ID` if the service sets one, and the trace headers unless the gateway passes on the client's. */
function ownHeaders(req: IncomingMessage, trace: TraceContext | undefined): Readonly<Record<string, string>> {
  const context = contextOf(req);
  // OpenTelemetry's instrumentation of undici adds a second traceparent to the client's, but only one may be sent.
  const sent = trace ?? (hasOpenTelemetry() ? activeSpanTrace() : undefined);
  if (sent !== undefined) return propagationHeaders(context, sent);
  return context === undefined || context.requestId === "" ? {} : { "X-Request-ID": context.requestId };
}

function isReplaced(name: string, own: Readonly<Record<string, string>>): boolean {
  switch (name) {
    case "x-request-id":
      return own["X-Request-ID"] !== undefined;
    case "traceparent":
    case "tracestate":
      return own["traceparent"] !== undefined;
    default:
      return false;
  }
}

/** Returns whether a target could mistake a client's header for a proxy's header. */
function isForged(name: string, isTrusted: boolean): boolean {
  if (name.startsWith("proxy-")) return true;
  if (name.includes("_")) {
    // Many servers do not distinguish X_Forwarded_For from X-Forwarded-For.
    const meant = name.replaceAll("_", "-");
    return (
      meant.startsWith("x-forwarded-") ||
      meant === "x-real-ip" ||
      DROPPED.has(meant) ||
      meant === "content-length" ||
      meant === "x-request-id"
    );
  }
  return !isTrusted && (name.startsWith("x-forwarded-") || name === "x-real-ip");
}

function addForwarded(headers: string[], req: IncomingMessage, isTrusted: boolean): void {
  const { socket } = req;
  const peer = socket.remoteAddress === undefined ? undefined : plainAddress(socket.remoteAddress);
  const chain = isTrusted ? given(req, "x-forwarded-for") : undefined;
  const addresses = chain === undefined ? peer : peer === undefined ? chain : `${chain}, ${peer}`;
  const scheme = (socket as { readonly encrypted?: boolean }).encrypted === true ? "https" : "http";
  const host = (isTrusted ? given(req, "x-forwarded-host") : undefined) ?? req.headers.host;
  if (addresses !== undefined) headers.push("X-Forwarded-For", addresses);
  headers.push("X-Forwarded-Proto", (isTrusted ? given(req, "x-forwarded-proto") : undefined) ?? scheme);
  if (host !== undefined && host !== "") headers.push("X-Forwarded-Host", host);
}

function given(req: IncomingMessage, name: string): string | undefined {
  const value = req.headers[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}
