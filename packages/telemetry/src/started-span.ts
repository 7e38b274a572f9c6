import type { OpenSpan, SpanAttributes } from "@svc/context";

/** A span that was started and has not ended yet. Its methods never throw (TRACE-21). */
export interface StartedSpan extends OpenSpan {
  /** Calls `run` with this span as the active one of OpenTelemetry, and returns its result. Throws only what `run` throws. */
  within<T>(run: () => T): T;
  /** Ends the span; `failed` marks it as an error. Does nothing when called again. */
  end(failed?: boolean): void;
  /** Records an error as the event `exception`, and ends the span as failed. */
  fail(error: unknown): void;
}

/** Starts spans of statements. */
export interface StatementSpans {
  /**
   * Starts a client span under the open span of the current request or job.
   *
   * @returns undefined when no span is open, when the open span is not sampled, and when the start fails
   */
  startClient(name: string, attributes: SpanAttributes): StartedSpan | undefined;
  /** Binds a callback of the application to the current OpenTelemetry context. */
  bind<F extends (...args: never[]) => unknown>(callback: F): F;
}
