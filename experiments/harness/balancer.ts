import { setTimeout as delay } from "node:timers/promises";
import { send } from "./client.ts";

/** A server to which the load balancer sends requests. */
export interface Replica {
  readonly port: number;
}

/** A minimal load balancer: it polls `/ready`, and applies the result after a delay. */
export interface Balancer<R extends Replica> extends Disposable {
  /** Returns the ready replicas in turn; undefined when none is ready. */
  pick(): R | undefined;
  add(replica: R): void;
  remove(replica: R): void;
  isRouted(replica: R): boolean;
}

interface Routed {
  routed: boolean;
  known: boolean;
}

/**
 * @param pollMs milliseconds between two polls of a replica; one failed poll takes the replica out of the rotation
 * @param propagationMs minimum and maximum milliseconds until the result of a poll takes effect
 */
export function createBalancer<R extends Replica>(
  pollMs: number,
  propagationMs: readonly [number, number],
): Balancer<R> {
  const states = new Map<R, Routed>();
  const end = new AbortController();
  let turn = 0;

  async function watch(replica: R, state: Routed): Promise<void> {
    while (states.get(replica) === state && !end.signal.aborted) {
      const { status } = await send(replica.port, "/ready", { deadlineMs: 1000 });
      const ready = status === 200;
      if (ready !== state.known) {
        state.known = ready;
        const [from, to] = propagationMs;
        setTimeout(() => (state.routed = ready), from + Math.random() * (to - from)).unref();
      }
      await delay(pollMs, undefined, { signal: end.signal }).catch(() => undefined);
    }
  }

  return {
    pick() {
      const routed = [...states].filter(([, state]) => state.routed);
      turn += 1;
      return routed[turn % Math.max(1, routed.length)]?.[0];
    },
    add(replica) {
      const state: Routed = { routed: true, known: true };
      states.set(replica, state);
      void watch(replica, state);
    },
    remove: (replica) => void states.delete(replica),
    isRouted: (replica) => states.get(replica)?.routed ?? false,
    [Symbol.dispose]() {
      states.clear();
      end.abort();
    },
  };
}
