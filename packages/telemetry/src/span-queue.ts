import type { Context } from "@opentelemetry/api";
import type { ReadableSpan, SpanProcessor } from "@opentelemetry/sdk-trace";
import { DeadlineError, endsWithin } from "@svc/resilience";
import type { Failures } from "./failures.ts";
import type { OtlpExporter } from "./otlp-exporter.ts";
import type { ExportCounts } from "./readiness.ts";

const MAX_QUEUED = 2048;
const BATCH = 512;
const EVERY_MS = 5000;
const SAMPLED = 1;
const SUCCESS = 0;

interface Sent {
  readonly succeeded: boolean;
  readonly error: unknown;
}

/** A span processor that exports in batches, outside the request. */
export interface SpanQueue extends SpanProcessor {
  readonly counts: ExportCounts;
  /** Exports the remaining spans, for at most this time. Never rejects. */
  stop(withinMs: number): Promise<void>;
}

export interface SpanQueueOptions {
  readonly exporter: OtlpExporter;
  readonly exportTimeoutMs: number;
  readonly failures: Failures;
  /** Called with its error when the first batch fails, and when a batch succeeds again; must not throw. Default: none. */
  readonly onChange?: ((failing: boolean, error: unknown) => void) | undefined;
}

/**
 * Creates a queue of at most 2,048 spans. It exports 512 in one batch when it has that many, and all of them every five
 * seconds. A full queue drops its oldest span; the processor of the SDK drops the newest.
 */
export function createSpanQueue(options: SpanQueueOptions): SpanQueue {
  const { exporter, exportTimeoutMs, failures, onChange } = options;
  const counts = { exported: 0, failedBatches: 0, dropped: 0, failing: false };
  let queue: ReadableSpan[] = [];
  /** Number of spans in the running export. */
  let sending = 0;
  let exporting: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let scheduled = false;
  let stopped = false;

  function add(span: ReadableSpan): void {
    if (stopped) return;
    queue.push(span);
    if (queue.length > MAX_QUEUED) {
      queue.shift();
      counts.dropped += 1;
    }
    if (queue.length >= BATCH && !counts.failing) exportSoon();
    else timer ??= setTimeout(onTimer, EVERY_MS).unref();
  }

  // Serialize in a later turn of the event loop, because the last span of a batch ends with a response.
  function exportSoon(): void {
    if (scheduled || exporting !== undefined) return;
    scheduled = true;
    setImmediate(() => {
      scheduled = false;
      void exportQueued(0);
    });
  }

  function onTimer(): void {
    timer = undefined;
    void exportQueued(queue.length);
  }

  /**
   * Exports full batches, and at least this many spans, until a batch fails. Spans that are added during the export wait for the
   * next batch: otherwise each short export would be followed by a shorter one.
   */
  function exportQueued(least: number): Promise<void> {
    exporting ??= (async () => {
      let left = least;
      try {
        do {
          left -= BATCH;
          await exportBatch();
        } while (
          (queue.length >= BATCH || left > 0 || stopped) &&
          queue.length > 0 &&
          (!counts.failing || stopped)
        );
      } finally {
        exporting = undefined;
        if (queue.length > 0 && !stopped) timer ??= setTimeout(onTimer, EVERY_MS).unref();
      }
    })();
    return exporting;
  }

  async function exportBatch(): Promise<void> {
    const batch = queue.slice(0, BATCH);
    queue = queue.slice(BATCH);
    if (batch.length === 0) return;
    sending = batch.length;
    const { succeeded, error } = await send(batch);
    // stop() has already counted the spans as dropped.
    if (sending === 0) return;
    sending = 0;
    if (succeeded) {
      counts.exported += batch.length;
    } else {
      counts.failedBatches += 1;
      counts.dropped += batch.length;
    }
    if (counts.failing === !succeeded) return;
    counts.failing = !succeeded;
    onChange?.(counts.failing, error);
  }

  function send(batch: ReadableSpan[]): Promise<Sent> {
    const { promise, resolve } = Promise.withResolvers<Sent>();
    // The exporter's own time limit begins again with every byte of the response.
    const timeout = setTimeout(() => {
      resolve({ succeeded: false, error: new DeadlineError(exportTimeoutMs) });
      abort();
    }, exportTimeoutMs).unref();
    try {
      exporter.export(batch, ({ code, error }) => resolve({ succeeded: code === SUCCESS, error }));
    } catch (error) {
      failures.report(error);
      resolve({ succeeded: false, error });
    }
    return promise.finally(() => clearTimeout(timeout));
  }

  function abort(): void {
    try {
      exporter.abort();
    } catch (error) {
      failures.report(error);
    }
  }

  async function flush(): Promise<void> {
    await exporting;
    if (queue.length > 0) await exportQueued(queue.length);
  }

  async function stop(withinMs: number): Promise<void> {
    if (stopped) return;
    stopped = true;
    clearTimeout(timer);
    const closed = flush().then(() => exporter.shutdown());
    const inTime = await endsWithin(withinMs, closed).catch(failures.report);
    counts.dropped += queue.length + sending;
    queue = [];
    sending = 0;
    // An open connection would keep the process alive.
    if (inTime === false) abort();
  }

  return {
    counts,
    onStart(_span: unknown, _context: Context) {},
    onEnd(span) {
      if ((span.spanContext().traceFlags & SAMPLED) !== 0) add(span);
    },
    forceFlush: flush,
    shutdown: () => stop(exportTimeoutMs),
    stop,
  };
}
