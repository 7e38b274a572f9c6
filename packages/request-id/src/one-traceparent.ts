import { hasSubscribers, subscribe, unsubscribe } from "node:diagnostics_channel";

// undici, and so `fetch`, publishes every request here before it sends it.
const CHANNEL = "undici:request:create";

/**
 * Makes requests of `fetch` and undici carry one `traceparent`. OpenTelemetry's instrumentation of undici adds its own
 * header to one that the caller has set, and the next service ignores a trace context that is sent twice (COR-10).
 */
export function keepOneTraceparent(): void {
  if (!hasSubscribers(CHANNEL)) return;
  // Subscribers run in the order in which they subscribed, and the instrumentation may have subscribed since.
  unsubscribe(CHANNEL, removeEarlierTraces);
  subscribe(CHANNEL, removeEarlierTraces);
}

/** Keeps only the last trace context: the instrumentation added it, and its span is the parent of the next service's span. */
function removeEarlierTraces(message: unknown): void {
  const { headers } = (message as { readonly request: { readonly headers?: unknown } }).request;
  if (!Array.isArray(headers)) return;
  // Names and values alternate.
  let last = headers.length - 2;
  while (last >= 0 && !isNamed(headers[last], "traceparent")) last -= 2;
  const earlier = headers.findIndex((name, at) => at % 2 === 0 && at < last && isNamed(name, "traceparent"));
  if (earlier === -1) return;
  for (let at = last - 2; at >= 0; at -= 2) {
    if (isNamed(headers[at], "traceparent") || isNamed(headers[at], "tracestate")) headers.splice(at, 2);
  }
}

function isNamed(header: unknown, name: string): boolean {
  return typeof header === "string" && header.length === name.length && header.toLowerCase() === name;
}
