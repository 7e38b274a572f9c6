import type { ReadableSpan, Span, SpanProcessor } from "@opentelemetry/sdk-trace";
import { areAllowed } from "./attributes.ts";
import { exceptionAttributes } from "./exception-event.ts";
import type { Failures } from "./failures.ts";
import { SCOPE } from "./provider.ts";
import { scrubbedAttributes } from "./scrub-attributes.ts";
import { scrubbedEvents } from "./scrub-events.ts";
import { scrubbedName } from "./scrub-name.ts";
import { createSpanOfStatement } from "./sql/span-of-statement.ts";

export interface ScrubOptions {
  /** Whether SQL spans may contain the statement, with `?` for every literal. */
  readonly recordStatement: boolean;
  readonly failures: Failures;
  /** Receives the number of attributes that were dropped from a span. */
  readonly onDropped: (attributes: number) => void;
}

/**
 * Returns a processor that removes everything that must not be recorded (TRACE-15, TRACE-17, TRACE-26) from the spans of the
 * application and of instrumentations, and what the application has added to the spans of this package. A span that cannot be
 * read is dropped.
 */
export function scrubForeignSpans(
  output: SpanProcessor,
  { recordStatement, failures, onDropped }: ScrubOptions,
): SpanProcessor {
  const spanOfStatement = createSpanOfStatement(recordStatement);
  const recordException = createRecordException(failures);

  /** Returns a copy, because the application may still use the span. */
  function scrubbed(span: ReadableSpan): ReadableSpan {
    const { name: scope, version = "", schemaUrl = "" } = span.instrumentationScope;
    const described = scrubbedAttributes(span, spanOfStatement);
    const { events, sqlState, dropped } = scrubbedEvents(span, "db.system" in described.attributes);
    const attributes =
      sqlState === undefined ? described.attributes : { "error.type": sqlState, ...described.attributes };
    const count = described.dropped + dropped + attributesOfLinks(span);
    if (count > 0) onDropped(count);
    const context = span.spanContext();
    return {
      name: scrubbedName(span, attributes, described.hasStatement),
      kind: span.kind,
      spanContext: () => context,
      ...(span.parentSpanContext === undefined ? {} : { parentSpanContext: span.parentSpanContext }),
      startTime: span.startTime,
      endTime: span.endTime,
      duration: span.duration,
      ended: span.ended,
      // The status message repeats the error message.
      status: { code: span.status.code },
      attributes,
      events,
      links: span.links.map((link) => ({ context: link.context })),
      resource: span.resource,
      instrumentationScope: { name: scope, version, schemaUrl },
      droppedAttributesCount: span.droppedAttributesCount + described.dropped,
      droppedEventsCount: span.droppedEventsCount,
      droppedLinksCount: span.droppedLinksCount,
    };
  }

  return {
    onStart(span, context) {
      // A handler reaches the spans of this package too, with `trace.getActiveSpan()`.
      span.recordException = recordException;
      output.onStart(span, context);
    },
    onEnd(span) {
      // Almost no span of this package needs a copy.
      if (isOwn(span) && isSafe(span)) return output.onEnd(span);
      let safe: ReadableSpan;
      try {
        safe = scrubbed(span);
      } catch (error) {
        failures.report(error);
        return;
      }
      output.onEnd(safe);
    },
    forceFlush: () => output.forceFlush(),
    shutdown: () => output.shutdown(),
  };
}

function isOwn({ instrumentationScope }: ReadableSpan): boolean {
  return instrumentationScope.name === SCOPE;
}

/** Returns whether a span has nothing but attributes that may be recorded. */
function isSafe({ events, links, status, attributes }: ReadableSpan): boolean {
  return events.length === 0 && links.length === 0 && status.message === undefined && areAllowed(attributes);
}

/**
 * Returns a method for all spans that applies TRACE-17 to a recorded error: the rules need the error's causes, which the event
 * does not contain.
 */
function createRecordException(failures: Failures): Span["recordException"] {
  return function (this: Span, error, time) {
    if (!(error instanceof Error)) {
      (Object.getPrototypeOf(this) as Span).recordException.call(this, error, time);
      return;
    }
    try {
      this.addEvent("exception", exceptionAttributes(error), time);
    } catch (failure) {
      failures.report(failure);
    }
  };
}

function attributesOfLinks({ links }: ReadableSpan): number {
  return links.reduce((sum, { attributes = {} }) => sum + Object.keys(attributes).length, 0);
}
