import type { Context } from "@opentelemetry/api";
import type { ReadableSpan, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace";
import { endsWithin } from "@svc/resilience";
import type { Failures } from "./failures.ts";

const MAX_QUEUED = 2048;
const BATCH = 512;
const EVERY_MS = 5000;
/** How much longer the queue waits than the exporter, whose own time limit reports what failed. */
const EXPORTER_GRACE_MS = 1000;
const SAMPLED = 1;
const SUCCESS = 0;

/** Numbers for `/ready` (TRACE-23). */
export interface ExportCounts {
  readonly exported: number;
  readonly failedBatches: number;
  /** Spans that were lost: the oldest of a full queue, and those of failed batches. */
  readonly dropped: number;
  /** Whether the last batch failed. */
  readonly failing: boolean;
}

/** A span processor that exports in batches, outside the request. */
export interface SpanQueue extends SpanProcessor {
  readonly counts: ExportCounts;
  /** Exports the remaining spans, for at most this time. Never rejects. */
  stop(withinMs: number): Promise<void>;
}

export interface SpanQueueOptions {
  readonly exporter: SpanExporter;
  readonly exportTimeoutMs: number;
  readonly failures: Failures;
  /** Runs an export in a context in which instrumentations make no spans. */
  readonly untraced: <T>(run: () => T) => T;
}

/**
 * Creates a queue of at most 2,048 spans. It exports 512 at once when it has that many, and all of them every five
 * seconds. A full queue drops its oldest span, which the processor of the SDK does not: it drops the newest.
 */
export function createSpanQueue({
  exporter,
  exportTimeoutMs,
  failures,
  untraced,
}: SpanQueueOptions): SpanQueue {
  const counts = { exported: 0, failedBatches: 0, dropped: 0, failing: false };
  let queue: ReadableSpan[] = [];
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
      void exportAll(BATCH);
    });
  }

  function onTimer(): void {
    timer = undefined;
    void exportAll(1);
  }

  /** Exports batches while at least `least` spans are queued, and the last batch did not fail. */
  function exportAll(least: number): Promise<void> {
    exporting ??= (async () => {
      try {
        do {
          await exportBatch();
        } while (queue.length >= least && (!counts.failing || stopped));
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
    if (await send(batch)) {
      counts.exported += batch.length;
      counts.failing = false;
    } else {
      counts.failedBatches += 1;
      counts.dropped += batch.length;
      counts.failing = true;
    }
  }

  function send(batch: ReadableSpan[]): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timeout = setTimeout(resolve, exportTimeoutMs + EXPORTER_GRACE_MS, false);
    try {
      untraced(() => exporter.export(batch, ({ code }) => resolve(code === SUCCESS)));
    } catch (error) {
      failures.report(error);
      resolve(false);
    }
    return promise.finally(() => clearTimeout(timeout));
  }

  async function flush(): Promise<void> {
    await exporting;
    if (queue.length > 0) await exportAll(1);
  }

  async function stop(withinMs: number): Promise<void> {
    if (stopped) return;
    stopped = true;
    clearTimeout(timer);
    await endsWithin(
      withinMs,
      flush().then(() => exporter.shutdown()),
    ).catch(failures.report);
    counts.dropped += queue.length;
    queue = [];
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
