import type { Context, Span, Tracer } from "@opentelemetry/api";
import {
  currentContext,
  isSampled,
  type OpenSpan,
  type SpanAttributes,
  type SpanHook,
  type SpanKind,
  type TraceContext,
} from "@svc/context";
import { isThenable } from "@svc/resilience";
import { allowedAttributes, cutText } from "./attributes.ts";
import { exceptionAttributes } from "./exception-event.ts";
import type { Failures } from "./failures.ts";
import { httpSpanReader } from "./http-span.ts";
import type { OpenTelemetry } from "./packages.ts";
import { runIn, suppressed } from "./run-in-context.ts";
import { ERROR } from "./span-codes.ts";
import type { StartedSpan, StatementSpans } from "./started-span.ts";
import { continueTrace, traceOf } from "./trace-parent.ts";

/** Starts spans that do not belong to an incoming request. */
export interface Spans extends StatementSpans {
  readonly hook: SpanHook;
  /** Returns whether an open span can be the parent of a statement's span. Cheaper than starting a span. */
  readonly isTracing: () => boolean;
}

export interface SpansOptions {
  readonly api: OpenTelemetry["api"];
  readonly tracer: Tracer;
  readonly failures: Failures;
  readonly onDropped: (attributes: number) => void;
}

/** The span of an operation that is not traced. */
export const NO_SPAN: OpenSpan = { set: () => undefined, trace: undefined };

export function createSpans({ api, tracer, failures, onDropped }: SpansOptions): Spans {
  const httpSpanIn = httpSpanReader(api);
  const kinds = { internal: 0, server: 1, client: 2, consumer: 4 } as const;

  function start(
    name: string,
    kind: SpanKind,
    attributes: SpanAttributes,
    parent: Context,
    inside: (context: Context) => Context,
  ): StartedSpan | undefined {
    const trace = currentContext()?.trace;
    try {
      const options = { kind: kinds[kind], attributes: allowedAttributes(attributes, onDropped) };
      const span = tracer.startSpan(cutText(String(name)), options, parent);
      return new Started(span, () => inside(api.trace.setSpan(parent, span)), trace);
    } catch (error) {
      failures.report(error);
      return undefined;
    }
  }

  // This is a class because a getter in an object literal is created again for each span.
  class Started implements StartedSpan {
    readonly #span: Span;
    readonly #context: () => Context;
    readonly #parent: TraceContext | undefined;
    #ended = false;

    constructor(span: Span, context: () => Context, parent: TraceContext | undefined) {
      this.#span = span;
      this.#context = context;
      this.#parent = parent;
    }

    get trace(): TraceContext | undefined {
      return quietly(() => traceOf(this.#span.spanContext(), this.#parent));
    }

    // This is a bound function because callers may pass it on without its span.
    readonly set = (attributes: SpanAttributes): void => {
      if (!this.#ended) quietly(() => this.#span.setAttributes(allowedAttributes(attributes, onDropped)));
    };

    within<T>(run: () => T): T {
      return runIn(api, this.#context, run, failures);
    }

    end(failed = false): void {
      if (this.#ended) return;
      this.#ended = true;
      quietly(() => {
        if (failed) this.#span.setStatus(ERROR);
        this.#span.end();
      });
    }

    fail(error: unknown): void {
      quietly(() => this.#span.addEvent("exception", exceptionAttributes(error)));
      this.end(true);
    }
  }

  function quietly<T>(act: () => T): T | undefined {
    try {
      return act();
    } catch (error) {
      failures.report(error);
      return undefined;
    }
  }

  /** Returns the context of the parent of a new span of this kind. */
  function parentFor(kind: SpanKind): Context {
    const active = api.context.active();
    const isInside = api.trace.getSpan(active) !== undefined;
    // A job runs in the trace of its own request, but code of another request may have woken the worker.
    if (isInside && (kind === "client" || kind === "internal")) return active;
    const trace = currentContext()?.trace;
    return trace === undefined ? active : continueTrace(api, active, trace);
  }

  const hook: SpanHook = (name, kind, attributes, run) => {
    const span = startHooked(name, kind, attributes);
    if (span === undefined) return run(NO_SPAN);
    let result;
    let isPending;
    try {
      result = span.within(() => run(span));
      isPending = isThenable(result);
    } catch (error) {
      span.fail(error);
      throw error;
    }
    if (!isPending) {
      span.end();
      return result;
    }
    return (result as Promise<unknown>).then(
      (value: unknown) => {
        span.end();
        return value;
      },
      (error: unknown) => {
        span.fail(error);
        throw error;
      },
    ) as typeof result;
  };

  function startHooked(name: string, kind: SpanKind, attributes: SpanAttributes): StartedSpan | undefined {
    try {
      return start(name, kind, attributes, parentFor(kind), (context) => context);
    } catch (error) {
      failures.report(error);
      return undefined;
    }
  }

  function isTracing(): boolean {
    const active = api.context.active();
    const span = api.trace.getSpan(active);
    if (span !== undefined) return span.isRecording() || httpSpanIn(active) !== undefined;
    const trace = currentContext()?.openTrace;
    return trace !== undefined && isSampled(trace);
  }

  /** Returns the context of the open and recorded span of the current request or job. */
  function recordedParent(): Context | undefined {
    const active = api.context.active();
    const span = api.trace.getSpan(active);
    if (span !== undefined)
      return span.isRecording() || httpSpanIn(active) !== undefined ? active : undefined;
    // Code that has lost the OpenTelemetry context, for example behind a body parser, still has the request's context.
    const trace = currentContext()?.openTrace;
    return trace !== undefined && isSampled(trace) ? continueTrace(api, active, trace) : undefined;
  }

  return {
    hook,
    isTracing,
    startClient(name, attributes) {
      try {
        const parent = recordedParent();
        // Suppress a second span for the statement from an instrumentation of the driver.
        return parent && start(name, "client", attributes, parent, (inner) => suppressed(api, inner));
      } catch (error) {
        failures.report(error);
        return undefined;
      }
    },
    bind(callback) {
      try {
        return api.context.bind(api.context.active(), callback);
      } catch (error) {
        failures.report(error);
        return callback;
      }
    },
  };
}
