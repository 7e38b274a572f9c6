import { setTimeout as delay } from "node:timers/promises";
import { keepAliveAgent, send } from "./client.ts";
import { startService } from "./service-process.ts";

const everyMs = 50;
/** Milliseconds that a response may take on a busy machine without counting as a stall. */
const usualMs = 100;

type Span = readonly [from: number, to: number];

/** The times at which the machine stalled. */
export interface Stalls {
  /** Returns how many milliseconds of stalls lie between two moments of `performance.now()`. */
  between(from: number, to: number): number;
}

/**
 * Sends requests to a plain server in another process, which runs no tested code: a late response means that one of the
 * two processes stalled.
 */
export interface StallMonitor extends Stalls, AsyncDisposable {
  readonly pid: number;
  /** Returns the longest stall between two moments of `performance.now()`, in milliseconds. */
  longest(from: number, to: number): number;
}

let running: { readonly started: Promise<StallMonitor>; users: number } | undefined;

/**
 * Starts the plain server, and sends requests to it until disposal. Concurrent runs share one server, because they run on the
 * same machine; the last user stops it.
 */
export async function startStallMonitor(): Promise<StallMonitor> {
  const held = (running ??= { started: startUnshared(), users: 0 });
  held.users += 1;
  const release = async (end: () => PromiseLike<void>): Promise<void> => {
    held.users -= 1;
    if (held.users > 0) return;
    if (running === held) running = undefined;
    await end();
  };
  try {
    const monitor = await held.started;
    return { ...monitor, [Symbol.asyncDispose]: () => release(() => monitor[Symbol.asyncDispose]()) };
  } catch (error) {
    await release(() => Promise.resolve());
    throw error;
  }
}

async function startUnshared(): Promise<StallMonitor> {
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

  /** Returns how many milliseconds of each stall lie between two moments. */
  function lengths(from: number, to: number): readonly number[] {
    // After the server exited, every delay would count as a stall.
    if (server.exit !== undefined) throw new Error(`the stall monitor has ended: ${server.ending}`);
    // Include the request that is still waiting for its response.
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

/**
 * The shortest stall in milliseconds that counts: together with the usual delay of a response, it can exceed the command
 * deadline of a service (1 s).
 */
const lateMs = 400;
/** Milliseconds for which a circuit breaker may stay open after a stall, including the time until its next probe. */
const openMs = 5000;
/** Milliseconds after which a circuit breaker that opened because of a stall is closed again. */
const settleMs = 3000;

/** Runs work, and discards at most one result per run that a stall of the machine may have caused. */
export interface Retry {
  /**
   * Repeats `work` after a pause when a stall may have caused its result. Does not repeat after the first discarded
   * result, so that a second one fails the run.
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
