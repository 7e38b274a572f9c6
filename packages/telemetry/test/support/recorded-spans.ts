import { AsyncLocalStorage } from "node:async_hooks";
import type { SpanAttributes } from "@svc/context";
import type { StatementSpans } from "../../src/started-span.ts";

/** A span of a statement, as a test reads it. */
export interface StatementSpan {
  readonly name: string;
  readonly attributes: SpanAttributes;
  /** Name of the span in which this one was started. */
  readonly parent: string | undefined;
  /** Number of calls of `end()`. */
  readonly ends: number;
  readonly failed: boolean;
}

/** Records statement spans in memory. */
export interface RecordedSpans extends StatementSpans {
  /** All spans, in the order in which they were started. */
  readonly all: readonly StatementSpan[];
  /** Name of the span in which the caller runs. */
  readonly active: () => string | undefined;
  /** Runs a function in a span with this name. */
  readonly inside: <T>(name: string, run: () => T) => T;
}

export function recordedSpans(): RecordedSpans {
  const context = new AsyncLocalStorage<string | undefined>();
  const all: StatementSpan[] = [];
  return {
    all,
    active: () => context.getStore(),
    inside: (name, run) => context.run(name, run),
    startClient(name, attributes) {
      const parent = context.getStore();
      const span = { name, attributes: { ...attributes }, parent, ends: 0, failed: false };
      all.push(span);
      const end = (failed: boolean): void => {
        span.ends += 1;
        span.failed = failed;
      };
      return {
        trace: undefined,
        set: (more) => void Object.assign(span.attributes, more),
        within: (run) => context.run(name, run),
        end: (failed = false) => end(failed),
        fail: () => end(true),
      };
    },
    bind(callback) {
      const store = context.getStore();
      return function (this: unknown, ...args: never[]) {
        return context.run(store, () => callback.apply(this, args));
      } as typeof callback;
    },
  };
}
