import { currentContext } from "./request-context.ts";
import { parseTraceparent } from "./trace-context.ts";
import type { TraceContext } from "./types.ts";

/** Attributes of a span: numbers, flags and short names, never a query or free text. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** The role of a span: handles a request, calls another service, works inside this service, or handles a job or event. */
export type SpanKind = "server" | "client" | "internal" | "consumer";

/** An open span, as the operation inside it sees it. */
export interface OpenSpan {
  /** Adds attributes that are known only during the operation. */
  readonly set: (attributes: SpanAttributes) => void;
  /** The span's own trace context, which a call to another service inside a client span sends. */
  readonly trace: TraceContext | undefined;
}

/**
 * Runs an operation inside a span: starts the span, calls `run` once, and ends the span when the result of `run` settles.
 * The parent is the active span; a server or consumer span without one continues `currentContext()?.trace`.
 *
 * @returns the result of `run`
 */
export type SpanHook = <T>(
  name: string,
  kind: SpanKind,
  attributes: SpanAttributes,
  run: (span: OpenSpan) => T,
) => T;

// Longest delay that a hook may add before an operation and after it, in milliseconds.
const HOOK_MS = 1000;

const NO_SPAN: OpenSpan = { set: () => undefined, trace: undefined };

/**
 * Runs an operation exactly once, inside a span if there is a hook. A server or consumer span is the current context's
 * `trace` while it is open. Errors of the hook do not affect the operation, which may already be committed. A hook that
 * does not start or finish delays it by at most a second each (TRACE-21).
 *
 * @returns the outcome of the operation
 */
export async function inSpan<T>(
  hook: SpanHook | undefined,
  name: string,
  kind: SpanKind,
  attributes: SpanAttributes,
  run: (span: OpenSpan) => Promise<T>,
): Promise<T> {
  if (hook === undefined) return run(NO_SPAN);
  const begun = Promise.withResolvers<void>();
  let outcome: Promise<T> | undefined;
  const once = (span: OpenSpan): Promise<T> => {
    outcome ??= runInside(kind, guarded(span), run);
    // Prevent an unhandled rejection: the hook may ignore the outcome, or end before the caller awaits it.
    outcome.catch(() => undefined);
    begun.resolve();
    return outcome;
  };
  // Ignore errors of the hook: the operation continues without a span, and its own error reaches the caller below.
  const hooked = (async () => void (await hook(name, kind, attributes, once)))().catch(() => undefined);
  await settlesWithin(HOOK_MS, Promise.race([begun.promise, hooked]));
  try {
    return await once(NO_SPAN);
  } finally {
    await settlesWithin(HOOK_MS, hooked);
  }
}

async function runInside<T>(kind: SpanKind, span: OpenSpan, run: (span: OpenSpan) => Promise<T>): Promise<T> {
  // Several client spans may be open at the same time, and would replace each other's trace in the context.
  const context = kind === "server" || kind === "consumer" ? currentContext() : undefined;
  if (context === undefined || span.trace === undefined) return run(span);
  const close = context.openSpan(span.trace);
  try {
    return await run(span);
  } finally {
    close();
  }
}

/** Returns a span that never throws, and whose trace is valid. */
function guarded(span: OpenSpan): OpenSpan {
  return {
    set(attributes) {
      try {
        span.set(attributes);
      } catch {
        // Ignore: the span lacks these attributes.
      }
    },
    trace: validTraceOf(span),
  };
}

function validTraceOf(span: OpenSpan): TraceContext | undefined {
  try {
    return parseTraceparent(span.trace?.traceparent, span.trace?.tracestate);
  } catch {
    return undefined;
  }
}

async function settlesWithin(ms: number, work: Promise<void>): Promise<void> {
  const { promise: late, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, ms);
  try {
    await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
