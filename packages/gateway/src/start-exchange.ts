import { inSpan, type SpanHook } from "@svc/context";
import type { Exchange } from "./exchange.ts";

/** Sends the request of an exchange, inside a client span if there is a hook (TRACE-10). */
export function startExchange(exchange: Exchange, span: SpanHook | undefined): void {
  if (span === undefined) return exchange.dispatch();
  const { prefix } = exchange.forwarding.route;
  const attributes = { "jfast.gateway.prefix": prefix };
  const spanned = inSpan(span, `gateway ${prefix}`, "client", attributes, (open) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    exchange.span = open;
    exchange.onSettled = (error) => (error === undefined ? resolve() : reject(error));
    // The client may have disconnected while the hook started the span.
    if (exchange.isDone) resolve();
    else exchange.dispatch();
    return promise;
  });
  // The client has already received the error.
  spanned.catch(() => undefined);
}
