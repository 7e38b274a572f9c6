import type { Context } from "@opentelemetry/api";
import type { Failures } from "./failures.ts";
import type { OpenTelemetry } from "./packages.ts";

/**
 * Calls a function once in a context of OpenTelemetry, or without it when the context manager fails. Returns and throws
 * only what the function does (TRACE-21).
 */
export function runIn<T>(
  api: OpenTelemetry["api"],
  context: () => Context,
  run: () => T,
  failures: Failures,
): T {
  let settle = run;
  try {
    api.context.with(context(), () => {
      try {
        const value = run();
        settle = () => value;
      } catch (error) {
        settle = () => {
          throw error;
        };
      }
    });
  } catch (error) {
    // The context manager may also have failed after the call.
    failures.report(error);
  }
  return settle();
}

/** Returns a context in which the SDK and all instrumentations create no spans. */
export function suppressed({ createContextKey }: OpenTelemetry["api"], context: Context): Context {
  // `@opentelemetry/core` defines this key by its name.
  return context.setValue(createContextKey("OpenTelemetry SDK Context Key SUPPRESS_TRACING"), true);
}
