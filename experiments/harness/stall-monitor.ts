import { setTimeout as delay } from "node:timers/promises";
import { keepAliveAgent, send } from "./client.ts";
import { startService } from "./service-process.ts";

const everyMs = 50;
/** The usual time of an answer on a busy machine, in milliseconds. */
const usualMs = 100;

type Span = readonly [from: number, to: number];

/** The stalls of the machine. */
export interface Stalls {
  /** Returns how many milliseconds of stalls lie between two moments of `performance.now()`. */
  between(from: number, to: number): number;
}

/** A plain server in another process that runs no tested code: a late answer means that it or this process stalled. */
export interface StallMonitor extends Stalls, AsyncDisposable {
  readonly pid: number;
  /** Returns the longest stall between two moments of `performance.now()`, in milliseconds. */
  longest(from: number, to: number): number;
}

/** Sends requests to a plain Node server until it is disposed of. */
export async function startStallMonitor(): Promise<StallMonitor> {
  const server = await startService("plain-server.ts", {});
  const agent = keepAliveAgent(1);
  const stalls: Span[] = [];
  const end = new AbortController();
  let due = performance.now();

  async function watch(): Promise<void> {
    while (!end.signal.aborted && server.exit === undefined) {
      await send(server.port, "/", { agent });
      const now = performance.now();
      if (now - due > usualMs) stalls.push([due, now]);
      due = now + everyMs;
      await delay(everyMs);
    }
  }
  const watching = watch();

  /** Returns the lengths of the stalls, as far as they lie between two moments. */
  function lengths(from: number, to: number): readonly number[] {
    // A server that has ended would excuse every delay.
    if (server.exit !== undefined) throw new Error(`the stall monitor has ended: ${server.ending}`);
    // Include the request that still waits for its answer.
    const all = [...stalls, [due + usualMs, performance.now()] as const];
    return all.map(([a, b]) => Math.max(0, Math.min(to, b) - Math.max(from, a)));
  }

  return {
    pid: server.pid,
    between: (from, to) => lengths(from, to).reduce((sum, ms) => sum + ms, 0),
    longest: (from, to) => Math.max(...lengths(from, to)),
    async [Symbol.asyncDispose]() {
      end.abort();
      await watching;
      agent.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}

/** The shortest stall that counts: with the usual delay of an answer, it can exceed a service's command deadline of 1 s. */
const lateMs = 400;
/** Milliseconds for which a circuit breaker may stay open after a stall, with room for the next probe. */
const openMs = 5000;
/** Milliseconds after which a circuit breaker that a stall has opened is closed again. */
const settleMs = 3000;

/** Runs work, and discards at most one result of a run because the machine stalled. */
export interface Retry {
  /**
   * Repeats `work` after a pause when a stall may have caused its result. A second such result of the run counts, so that
   * the run fails.
   */
  <T>(work: (turn: number) => Promise<T>, mayComeOfStall: (found: T) => boolean): Promise<T>;
  /** The number of discarded results: 0 or 1. */
  readonly discarded: number;
}

/** @param pauseMs milliseconds before the repetition */
export function createRetry(stallMonitor: Pick<StallMonitor, "longest">, pauseMs = settleMs): Retry {
  let discarded = 0;
  async function retry<T>(
    work: (turn: number) => Promise<T>,
    mayComeOfStall: (found: T) => boolean,
  ): Promise<T> {
    const began = performance.now();
    const found = await work(0);
    const isStalled = stallMonitor.longest(began - openMs, performance.now()) > lateMs;
    if (discarded > 0 || !isStalled || !mayComeOfStall(found)) return found;
    discarded += 1;
    await delay(pauseMs);
    return work(1);
  }
  return Object.defineProperty(retry, "discarded", { get: () => discarded }) as Retry;
}
