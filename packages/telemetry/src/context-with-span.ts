import type { Context, Span } from "@opentelemetry/api";
import type { OpenTelemetry } from "./packages.ts";

/** Returns a copy of an OpenTelemetry context in which the given span is active. */
export type WithSpan = (parent: Context, span: Span) => Context;

/**
 * Returns a faster equivalent of `trace.setSpan()`. Each OpenTelemetry context copies a map and creates three functions;
 * without them, tracing an unsampled request takes a tenth less time.
 */
export function createWithSpan({ createContextKey, trace }: OpenTelemetry["api"]): WithSpan {
  // All 1.x versions of the API store the active span under this key.
  const active = createContextKey("OpenTelemetry Context Key SPAN");

  // This is a class so that its methods are created once, and not for every request.
  class ContextWithSpan implements Context {
    readonly #parent: Context;
    readonly #span: Span;

    constructor(parent: Context, span: Span) {
      this.#parent = parent;
      this.#span = span;
    }

    getValue(key: symbol): unknown {
      return key === active ? this.#span : this.#parent.getValue(key);
    }

    setValue(key: symbol, value: unknown): Context {
      return trace.setSpan(this.#parent, this.#span).setValue(key, value);
    }

    deleteValue(key: symbol): Context {
      return trace.setSpan(this.#parent, this.#span).deleteValue(key);
    }
  }
  return (parent, span) => new ContextWithSpan(parent, span);
}
