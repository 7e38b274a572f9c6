import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { collectingLogger } from "@svc/test-support";
import { expect } from "chai";
import { mock } from "node:test";
import { setImmediate as settled } from "node:timers/promises";
import { createFailures } from "../src/failures.ts";
import { createSpanQueue, type SpanQueue } from "../src/span-queue.ts";

type Done = (result: { readonly code: number; readonly error?: Error }) => void;

/** An exporter that stores its batches and completes none of them. */
interface HeldExports {
  readonly batches: readonly string[][];
  /** Ends the export of a batch. */
  readonly end: (batch: number, code: 0 | 1) => void;
  readonly aborts: () => number;
  readonly shutdowns: () => number;
}

const EXPORT_TIMEOUT_MS = 3000;
const noCounts = { exported: 0, failedBatches: 0, dropped: 0, failing: false };

function span(name: string, traceFlags = 1): ReadableSpan {
  return { name, spanContext: () => ({ traceFlags }) } as ReadableSpan;
}

function createHeld(onExport: (done: Done) => void = () => undefined) {
  const batches: string[][] = [];
  const ends: Done[] = [];
  let aborts = 0;
  let shutdowns = 0;
  const failures = createFailures({ logger: collectingLogger(), now: () => 0 });
  const queue = createSpanQueue({
    exporter: {
      export(spans, done) {
        batches.push(spans.map(({ name }) => name));
        ends.push(done);
        onExport(done);
      },
      abort: () => void (aborts += 1),
      shutdown: () => Promise.resolve(void (shutdowns += 1)),
    },
    exportTimeoutMs: EXPORT_TIMEOUT_MS,
    failures,
  });
  const held: HeldExports = {
    batches,
    end: (batch, code) => ends[batch]?.({ code }),
    aborts: () => aborts,
    shutdowns: () => shutdowns,
  };
  return { queue, held, failures };
}

function add(queue: SpanQueue, count: number, first = 0): void {
  for (let index = first; index < first + count; index++) queue.onEnd(span(`${index}`));
}

describe("the queue of spans", () => {
  beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
  afterEach(() => mock.timers.reset());

  it("TRACE-23 exports the queued spans after five seconds, and counts them", async () => {
    const { queue, held } = createHeld((done) => done({ code: 0 }));
    add(queue, 2);
    mock.timers.tick(4999);
    expect(held.batches).to.deep.equal([]);
    mock.timers.tick(1);
    expect(held.batches).to.deep.equal([["0", "1"]]);
    await settled();
    expect(queue.counts).to.deep.equal({ ...noCounts, exported: 2 });
  });

  it("exports 512 spans immediately in one batch, and the rest after the timer", async () => {
    const { queue, held } = createHeld((done) => done({ code: 0 }));
    add(queue, 513);
    expect(held.batches).to.deep.equal([]);
    await settled();
    expect(held.batches.map((batch) => batch.length)).to.deep.equal([512]);
    await settled();
    mock.timers.tick(5000);
    expect(held.batches.map((batch) => batch.length)).to.deep.equal([512, 1]);
  });

  it("keeps spans that are added during a timed export for the next batch", async () => {
    const { queue, held } = createHeld();
    add(queue, 2);
    mock.timers.tick(5000);
    add(queue, 3, 2);
    held.end(0, 0);
    await settled();
    expect(held.batches).to.deep.equal([["0", "1"]]);
    mock.timers.tick(5000);
    expect(held.batches).to.deep.equal([
      ["0", "1"],
      ["2", "3", "4"],
    ]);
  });

  it("exports one batch at a time", async () => {
    const { queue, held } = createHeld();
    add(queue, 1024);
    await settled();
    expect(held.batches).to.have.lengthOf(1);
    held.end(0, 0);
    await settled();
    expect(held.batches).to.have.lengthOf(2);
    expect(held.batches[1]?.at(-1)).to.equal("1023");
  });

  it("drops the oldest spans and counts them when 2,048 are queued", async () => {
    const { queue, held } = createHeld();
    add(queue, 512);
    await settled();
    add(queue, 2048 + 100, 512);
    expect(queue.counts).to.deep.equal({ ...noCounts, dropped: 100 });
    for (let batch = 0; batch < 5; batch++) {
      held.end(batch, 0);
      await settled();
    }
    expect(held.batches.slice(1).flat()).to.deep.equal(
      Array.from({ length: 2048 }, (_none, index) => `${512 + 100 + index}`),
    );
    expect(queue.counts).to.deep.equal({ ...noCounts, exported: 2560, dropped: 100 });
  });

  it("TRACE-23 counts a failed batch and its spans, and is marked as failing until a batch succeeds", async () => {
    const { queue, held } = createHeld();
    add(queue, 512);
    await settled();
    held.end(0, 1);
    await settled();
    expect(queue.counts).to.deep.equal({ exported: 0, failedBatches: 1, dropped: 512, failing: true });
    add(queue, 600, 512);
    await settled();
    expect(held.batches).to.have.lengthOf(1);
    mock.timers.tick(5000);
    held.end(1, 0);
    await settled();
    expect(queue.counts).to.deep.equal({ exported: 512, failedBatches: 1, dropped: 512, failing: false });
  });

  it("TRACE-27 aborts an export that does not end in time, and counts it once when it ends later", async () => {
    const { queue, held } = createHeld();
    add(queue, 512);
    await settled();
    mock.timers.tick(EXPORT_TIMEOUT_MS - 1);
    await settled();
    expect([queue.counts.failedBatches, held.aborts()]).to.deep.equal([0, 0]);
    mock.timers.tick(1);
    await settled();
    held.end(0, 0);
    held.end(0, 1);
    await settled();
    expect(queue.counts).to.deep.equal({ exported: 0, failedBatches: 1, dropped: 512, failing: true });
    expect(held.aborts()).to.equal(1);
  });

  it("TRACE-21 counts a batch as failed when the exporter throws", async () => {
    const { queue, failures } = createHeld(() => {
      throw new Error("not serializable");
    });
    add(queue, 512);
    await settled();
    expect(queue.counts).to.include({ failedBatches: 1, dropped: 512 });
    expect(failures.count).to.equal(1);
  });

  it("queues no span that is not sampled", async () => {
    const { queue, held } = createHeld();
    queue.onEnd(span("unsampled", 0));
    await queue.stop(1000);
    expect(held.batches).to.deep.equal([]);
  });

  it("exports the remaining batches in stop() after one has failed, and ignores spans that end later", async () => {
    const { queue, held } = createHeld((done) => done({ code: held.batches.length === 1 ? 1 : 0 }));
    add(queue, 1100);
    await queue.stop(1000);
    queue.onEnd(span("late"));
    await queue.forceFlush();
    expect(held.batches.map((batch) => batch.length)).to.deep.equal([512, 512, 76]);
    expect(queue.counts).to.include({ exported: 588, failedBatches: 1, dropped: 512 });
    expect([held.shutdowns(), held.aborts()]).to.deep.equal([1, 0]);
  });

  it("TRACE-27 resolves stop() at its time limit, aborts the export and counts the lost spans once", async () => {
    const { queue, held } = createHeld();
    add(queue, 1000);
    const stopped = queue.stop(2000);
    await settled();
    mock.timers.tick(2000);
    await stopped;
    expect(held.aborts()).to.equal(1);
    const counts = { ...noCounts, dropped: 1000 };
    expect(queue.counts).to.deep.equal(counts);
    held.end(0, 1);
    await settled();
    expect(queue.counts).to.deep.equal(counts);
    expect(held.batches).to.have.lengthOf(1);
  });

  it("exports the queued spans when the provider is flushed or shut down", async () => {
    const { queue, held } = createHeld((done) => done({ code: 0 }));
    add(queue, 1);
    await queue.forceFlush();
    expect(held.batches).to.have.lengthOf(1);
    add(queue, 1, 1);
    await queue.shutdown();
    expect(held.batches).to.have.lengthOf(2);
  });
});
