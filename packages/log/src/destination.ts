import { fstatSync, writeSync } from "node:fs";
import { isMainThread } from "node:worker_threads";
import { hold, isExiting, release, type Unwritten } from "./exit-flush.ts";
import { destinationOptions, type DestinationOptions, type LineDestination } from "./options.ts";
import { timeField } from "./timestamp.ts";

/** A destination that never blocks, never throws and has a bounded queue. */
export interface Destination extends LineDestination {
  /** Writes as much as possible now, and calls `done` once the queue is empty. */
  flush(done?: (error?: Error) => void): void;
  /** Writes as much as the reader accepts now, without waiting. */
  flushSync(): void;
  /** Bytes waiting for the reader. */
  readonly queuedBytes: number;
  /** Lines dropped since startup because the queue was full or the reader had closed. */
  readonly droppedLines: number;
}

/** Key of the function that builds the record about dropped lines. The logger sets it, because it knows the service. */
export const NOTICE: unique symbol = Symbol("notice");
/** Key of an option for tests, which replaces `fs.writeSync`. */
export const WRITE: unique symbol = Symbol("write");

export type WriteCall = (fd: number, bytes: Buffer, offset: number, length: number) => number;

export interface DestinationWithNotice extends Destination {
  [NOTICE]: (count: number) => string;
}

interface Chunk {
  readonly bytes: Buffer;
  readonly lines: number;
}

// Large enough to keep the system call cost per line low, and no larger than a pipe's buffer.
const batchBytes = 64 * 1024;
const firstRetryMs = 5;
const lastRetryMs = 100;

/**
 * Creates a destination that collects the lines of one event-loop iteration and writes them with one system call. Writes a
 * fatal line immediately, and the remaining lines when the process ends, including after `process.exit()` or an uncaught
 * exception. Create only one per descriptor.
 *
 * @throws ConfigurationError
 */
export function createDestination(options: DestinationOptions & { [WRITE]?: WriteCall } = {}): Destination {
  const { fd, maxQueuedBytes, exitWaitMs } = destinationOptions.resolve(options);
  const write: WriteCall = options[WRITE] ?? writeSync;
  let turn = "";
  let turnLines = 0;
  // Counted in bytes while blocked, else in UTF-16 units, which are precise enough to decide when to write.
  let turnSize = 0;
  let scheduled = false;
  let queue: Chunk[] = [];
  let offset = 0;
  let queuedBytes = 0;
  let blockedBy: string | undefined;
  let retryMs = firstRetryMs;
  let retryPending = false;
  let closed = false;
  let dropped = 0;
  let untold = 0;
  let waiting: (() => void)[] = [];
  makeNonBlocking(fd);

  function enqueueTurn(): void {
    if (turn === "") return;
    const bytes = Buffer.from(turn);
    queue.push({ bytes, lines: turnLines });
    queuedBytes += bytes.length;
    turn = "";
    turnLines = turnSize = 0;
  }

  function pump(): void {
    enqueueTurn();
    for (;;) {
      const [chunk] = queue;
      if (chunk === undefined) {
        if (untold === 0) break;
        turn = destination[NOTICE](untold);
        turnLines = 1;
        untold = 0;
        enqueueTurn();
      } else if (!writeSome(chunk)) return;
    }
    blockedBy = undefined;
    retryMs = firstRetryMs;
    idle();
  }

  function writeSome(chunk: Chunk): boolean {
    let written: number;
    try {
      written = write(fd, chunk.bytes, offset, chunk.bytes.length - offset);
    } catch (error) {
      return failed((error as NodeJS.ErrnoException).code ?? "unknown");
    }
    if (written === 0) return failed("EAGAIN");
    retryMs = firstRetryMs;
    queuedBytes -= written;
    offset += written;
    if (offset === chunk.bytes.length) {
      queue.shift();
      offset = 0;
    }
    return true;
  }

  function failed(code: string): boolean {
    if (code === "EINTR") return true;
    if (code === "EPIPE" || code === "EBADF" || code === "EINVAL" || code === "ERR_OUT_OF_RANGE") {
      close();
      return false;
    }
    // Treat a full disk like a slow reader: queue lines up to the limit and retry.
    blockedBy = code;
    if (!retryPending) {
      retryPending = true;
      setTimeout(retry, retryMs).unref();
      retryMs = Math.min(retryMs * 2, lastRetryMs);
    }
    return false;
  }

  function retry(): void {
    retryPending = false;
    if (!closed) pump();
  }

  function close(): void {
    closed = true;
    dropped += turnLines;
    for (const chunk of queue) dropped += chunk.lines;
    queue = [];
    turn = "";
    queuedBytes = turnLines = turnSize = offset = 0;
    idle();
  }

  function idle(): void {
    release(holder);
    const callbacks = waiting;
    waiting = [];
    for (const done of callbacks) done();
  }

  function endOfTurn(): void {
    scheduled = false;
    if (turn !== "" && blockedBy === undefined) pump();
  }

  const holder: Unwritten = {
    drain() {
      const deadline = performance.now() + exitWaitMs;
      if (!closed) pump();
      while (blockedBy === "EAGAIN" && !closed && performance.now() < deadline) {
        sleepSync(firstRetryMs);
        pump();
      }
    },
  };

  const destination: DestinationWithNotice = {
    write(line) {
      // Only a reader that does not read makes lines wait, so a line that exceeds the limit is written as well.
      if (blockedBy === undefined && turn !== "" && turnSize + line.length > maxQueuedBytes) pump();
      const size = blockedBy === undefined ? line.length : Buffer.byteLength(line);
      if (closed || (blockedBy !== undefined && queuedBytes + turnSize + size > maxQueuedBytes)) {
        dropped++;
        if (!closed) untold++;
        return;
      }
      if (turn === "" && queue.length === 0) hold(holder);
      turn += line;
      turnLines++;
      turnSize += size;
      if (isExiting()) pump();
      else if (turnSize >= batchBytes) {
        if (blockedBy === undefined) pump();
        else enqueueTurn();
      } else if (!scheduled && blockedBy === undefined) {
        scheduled = true;
        setImmediate(endOfTurn);
      }
    },
    flush(done) {
      if (!closed) pump();
      if (done === undefined) return;
      if (closed || (queue.length === 0 && turn === "")) done();
      else waiting.push(done);
    },
    flushSync() {
      if (!closed) pump();
    },
    get queuedBytes() {
      return queuedBytes + turnSize;
    },
    get droppedLines() {
      return dropped;
    },
    [NOTICE]: (count) =>
      `{"level":"warn"${timeField()},"dropped_lines":${count},"message":"${notice(count)}"}\n`,
  };
  return destination;
}

/** Returns the message of the record that reports dropped lines. */
export function notice(count: number): string {
  return `${count} log ${count === 1 ? "line was" : "lines were"} dropped`;
}

/**
 * Makes writes to a pipe or socket on descriptor 1 or 2 fail with EAGAIN instead of blocking the event loop. Leaves files
 * and terminals unchanged, because they never block for long.
 */
function makeNonBlocking(fd: number): void {
  if (!isMainThread || (fd !== 1 && fd !== 2)) return;
  try {
    const stat = fstatSync(fd);
    if (!stat.isFIFO() && !stat.isSocket()) return;
  } catch {
    return;
  }
  // Node has no function for this, but creating the stream object makes the descriptor non-blocking.
  const stream = fd === 1 ? process.stdout : process.stderr;
  // Without a listener, other code that prints to a closed pipe would end the process.
  if (!stream.listeners("error").includes(ignore)) stream.on("error", ignore);
}

function ignore(): void {}

const word = new Int32Array(new SharedArrayBuffer(4));

/** Blocks the thread for `ms` milliseconds; use only while the process exits. */
function sleepSync(ms: number): void {
  Atomics.wait(word, 0, 0, ms);
}

interface WithShared {
  [SHARED]?: Destination;
}
const SHARED: unique symbol = Symbol.for("@svc/log/1/standard-output") as never;

/**
 * Returns the destination for standard output that all loggers of the process share; two destinations would mix fragments of
 * their lines.
 */
export function standardOutput(): Destination {
  const holder = globalThis as WithShared;
  return (holder[SHARED] ??= createDestination());
}
