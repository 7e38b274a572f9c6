import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import type { ServiceProcess } from "./service-process.ts";

/** Asks for something that costs nothing, and waits for the answer. */
export type Ask = () => Promise<unknown>;

/**
 * When this process, or something beside it, was late. It is seen by questions of our own that no code which is tried has a
 * part in: that its answers are slow is no excuse for them.
 */
export interface Lateness extends Disposable {
  /** Asks again and again until it is disposed of. */
  watch(ask: Ask): Disposable;
  /** For how long one of them was late at the most, between two moments of `performance.now()`. */
  longestMs(from: number, to: number): number;
  /** For how long any of them was. */
  totalMs(from: number, to: number): number;
}

const everyMs = 50;
/** What any answer of a busy machine may take. */
const usualMs = 200;

type Span = readonly [from: number, to: number];

/** Watches this process from the start. */
export function watchLateness(): Lateness {
  const late: Span[] = [];
  /** Since when those wait that are being asked. */
  const waiting = new Set<{ since: number }>();

  function watch(ask: Ask): Disposable {
    // A turn that begins late counts from when it was due, so that a pause of ours is seen between two questions, too.
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
    // What has ended is not late.
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

/** Needs nothing of a service but that its process runs. The service answers it by `answerQuestions`. */
export function askAwake(service: Pick<ServiceProcess, "ask" | "exit">): Ask {
  return () => {
    if (service.exit !== undefined) throw new Error("it has ended");
    return service.ask("awake");
  };
}

/** Sends a PING over a connection of its own. */
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

/** Asks for nothing over a connection of its own. */
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
