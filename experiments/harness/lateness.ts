import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import type { ServiceProcess } from "./service-process.ts";

/** Sends a cheap request and waits for the answer. */
export type Ask = () => Promise<unknown>;

/**
 * Records stalls of this process and of processes beside it. It measures by its own requests, which the tested code does not
 * serve: slow answers of that code do not count as stalls.
 */
export interface Lateness extends Disposable {
  /** Repeats a request until it is disposed of. */
  watch(ask: Ask): Disposable;
  /** Returns the longest delay in milliseconds between two moments of `performance.now()`. */
  longestMs(from: number, to: number): number;
  /** Returns the total of all delays in milliseconds, overlaps counted once. */
  totalMs(from: number, to: number): number;
}

const everyMs = 50;
/** The usual time of an answer on a busy machine, in milliseconds. */
const usualMs = 200;

type Span = readonly [from: number, to: number];

/** Watches this process from the start. */
export function watchLateness(): Lateness {
  const late: Span[] = [];
  /** The requests that wait for an answer, with the time since when. */
  const waiting = new Set<{ since: number }>();

  function watch(ask: Ask): Disposable {
    // A request that is sent late counts from its due time, so that a stall between two requests is included.
    const turn = { since: performance.now() };
    waiting.add(turn);
    const asking = async (): Promise<void> => {
      while (waiting.has(turn)) {
        await ask();
        const now = performance.now();
        if (now - turn.since > usualMs) late.push([turn.since, now]);
        turn.since = now + everyMs;
        await delay(everyMs, undefined, { ref: false });
      }
    };
    // A watched process that has ended causes no delay.
    asking().catch(() => waiting.delete(turn));
    return { [Symbol.dispose]: () => void waiting.delete(turn) };
  }

  function within(from: number, to: number): readonly Span[] {
    const now = performance.now();
    const still = [...waiting].map(({ since }): Span => [since, now]).filter(([a, b]) => b - a > usualMs);
    return [...late, ...still]
      .map(([a, b]): Span => [Math.max(a, from), Math.min(b, to)])
      .filter(([a, b]) => a < b);
  }

  watch(() => Promise.resolve());
  return {
    watch,
    longestMs: (from, to) => Math.max(0, ...within(from, to).map(([a, b]) => b - a)),
    totalMs(from, to) {
      let sum = 0;
      let until = from;
      for (const [a, b] of within(from, to).toSorted(([a], [b]) => a - b)) {
        sum += Math.max(0, b - Math.max(a, until));
        until = Math.max(until, b);
      }
      return sum;
    },
    [Symbol.dispose]: () => waiting.clear(),
  };
}

/** Asks whether a service's process runs. The service answers through `answerQuestions`. */
export function askAwake(service: Pick<ServiceProcess, "ask" | "exit">): Ask {
  return () => {
    if (service.exit !== undefined) throw new Error("it has ended");
    return service.ask("awake");
  };
}

/** Sends PING over a separate connection. */
export function watchRedis(lateness: Lateness, url: string): Disposable {
  const { hostname, port } = new URL(url);
  const over = new AbortController();
  const socket = connect(Number(port), hostname);
  socket.on("error", () => undefined);
  socket.on("close", () => over.abort());
  const watching = lateness.watch(async () => {
    socket.write("PING\r\n");
    await once(socket, "data", { signal: over.signal });
  });
  return {
    [Symbol.dispose]() {
      watching[Symbol.dispose]();
      socket.destroy();
    },
  };
}

/** Sends `SELECT 1` over a separate connection. */
export async function watchPostgres(lateness: Lateness, url: string): Promise<AsyncDisposable> {
  const client = new pg.Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  const watching = lateness.watch(() => client.query("SELECT 1"));
  return {
    async [Symbol.asyncDispose]() {
      watching[Symbol.dispose]();
      await client.end();
    },
  };
}
