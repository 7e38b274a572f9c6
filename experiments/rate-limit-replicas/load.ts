import { setTimeout as delay } from "node:timers/promises";
import { keepAliveAgent, send } from "../harness/client.ts";
import type { Asked, Span } from "./admissions.ts";

/** Connections to each replica. */
export const CONNECTIONS = 16;

/**
 * Sends requests over all connections until `untilAt`, each for the key that `keyAt` returns; none while it returns undefined.
 *
 * @param pauseMs milliseconds between two requests of a connection
 */
export async function load(
  ports: readonly number[],
  untilAt: number,
  keyAt: (now: number, worker: number) => string | undefined,
  pauseMs: number,
): Promise<Asked[]> {
  const asked: Asked[] = [];
  const agents = ports.map(() => keepAliveAgent(CONNECTIONS));
  const workers = ports.flatMap((port, replica) =>
    Array.from({ length: CONNECTIONS }, async (_, connection) => {
      const agent = agents[replica];
      for (let sentAt = performance.now(); sentAt < untilAt; sentAt = performance.now()) {
        const key = keyAt(sentAt, replica * CONNECTIONS + connection);
        if (key === undefined || agent === undefined) {
          await delay(1);
          continue;
        }
        const { status } = await send(port, "/", { agent, headers: { "X-Key": key } });
        asked.push({ replica, key, sentAt, answeredAt: performance.now(), status });
        if (pauseMs > 0) await delay(pauseMs);
      }
    }),
  );
  await Promise.all(workers);
  for (const agent of agents) agent.destroy();
  return asked;
}

/**
 * Sends requests for an exempt path to each replica until `untilAt`, one after the other. These requests wait for no store.
 *
 * @param everyMs milliseconds between two requests
 */
export async function probe(ports: readonly number[], untilAt: number, everyMs: number): Promise<Span[]> {
  const spans: Span[] = [];
  const probers = ports.map(async (port, replica) => {
    const agent = keepAliveAgent(1);
    for (let sentAt = performance.now(); sentAt < untilAt; sentAt = performance.now()) {
      await send(port, "/health", { agent });
      spans.push({ replica, sentAt, answeredAt: performance.now() });
      await delay(everyMs);
    }
    agent.destroy();
  });
  await Promise.all(probers);
  return spans;
}

/** A cycle of a key: a window without requests, a request, half a window without, and a flood for one and a half windows. */
export interface Cycle {
  /** The cycle's number, which distinguishes its floods. */
  readonly number: number;
  readonly phase: "idle" | "open" | "wait" | "flood";
}

/** Returns the phase of a key at a time in milliseconds since the start. Keys begin their cycles one after the other. */
export function cycleOf(ms: number, key: number, keys: number, windowMs: number): Cycle {
  const length = 3 * windowMs;
  const at = ms + (key / keys) * length;
  const within = at % length;
  const number = Math.floor(at / length);
  if (within < windowMs) return { number, phase: "idle" };
  if (within < 1.1 * windowMs) return { number, phase: "open" };
  return { number, phase: within < 1.5 * windowMs ? "wait" : "flood" };
}
