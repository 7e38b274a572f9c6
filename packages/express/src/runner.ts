import type { Logger } from "@svc/context";
import { setTimeout as delay } from "node:timers/promises";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { closeServer } from "./close-server.ts";
import type { InFlight } from "./in-flight.ts";
import { stopPhases, type StopHooks } from "./stop.ts";

/** Told when the service begins to stop, so that `/ready` can say so. */
export interface StateListener {
  setState(state: "starting" | "serving" | "draining"): void;
}

export interface RunnerOptions {
  readonly server: Server;
  readonly inFlight: InFlight;
  readonly hooks: StopHooks;
  readonly health: StateListener | undefined;
  readonly logger: () => Logger | undefined;
  readonly host: string;
  readonly port: number;
  /** How long a stopping service goes on serving after `/ready` has said 503, in milliseconds. */
  readonly drainDelayMs: number;
  /** From the first signal to the last resort, in milliseconds. */
  readonly shutdownTimeoutMs: number;
}

/** Starts a server and stops it without losing a request. */
export interface Runner {
  start(): Promise<void>;
  /** Idempotent. Resolves with the exit code that the stop deserves: 0, or 1 when it was cut short. */
  stop(options?: { readonly drainDelayMs?: number; readonly timeoutMs?: number }): Promise<number>;
  readonly address: AddressInfo | undefined;
  readonly stopping: boolean;
}

/** Between two lines about connections that cannot be taken, in milliseconds. */
const errorPauseMs = 10_000;

export function createRunner(options: RunnerOptions): Runner {
  const { server, inFlight, hooks, health, logger } = options;
  let started: Promise<void> | undefined;
  let stopped: Promise<number> | undefined;
  let toldAt = -Infinity;

  async function listen(): Promise<void> {
    if (stopped !== undefined) throw new Error("the service has been stopped; make a new one");
    server.listen(options.port, options.host);
    await once(server, "listening");
    server.on("error", onError);
    health?.setState("serving");
    logger()?.info(addressFields(server), "listening");
  }

  // Without a listener, a connection that the system has no memory for would end the process.
  function onError(err: Error): void {
    const now = performance.now();
    if (now - toldAt < errorPauseMs) return;
    toldAt = now;
    logger()?.error({ err }, "the server cannot take a connection");
  }

  async function stopInOrder(drainDelayMs: number, cut: AbortSignal): Promise<void> {
    health?.setState("draining");
    inFlight.closeConnections();
    phase("drain", { drain_delay_ms: drainDelayMs, in_flight: inFlight.size });
    // Whoever balances the load needs this time to see /ready and to send its requests elsewhere.
    if (server.listening) await delay(drainDelayMs, undefined, { signal: cut }).catch(() => undefined);
    phase("server", { in_flight: inFlight.size });
    await closeServer(server, inFlight);
    for (const each of stopPhases) {
      if (cut.aborted) return;
      phase(each, {});
      await hooks.run(each);
    }
    phase("done", {});
  }

  function phase(name: string, fields: object): void {
    logger()?.info({ phase: name, ...fields }, "stopping");
  }

  async function stopWithin(drainDelayMs: number, timeoutMs: number): Promise<number> {
    // A signal may come while the server is still on its way to listening.
    await started?.catch(() => undefined);
    const cut = new AbortController();
    const orderly = stopInOrder(drainDelayMs, cut.signal).then(() => 0);
    const timer = new AbortController();
    const cap = delay(timeoutMs, 1, { signal: timer.signal });
    cap.catch(() => undefined);
    const code = await Promise.race([orderly, cap]);
    timer.abort();
    if (code !== 0) {
      cut.abort();
      logger()?.error(
        { in_flight: inFlight.size, timeout_ms: timeoutMs },
        "stopping took too long; connections are cut",
      );
      server.closeAllConnections();
    }
    inFlight.stop();
    return code;
  }

  return {
    start: () => (started ??= listen()),
    stop: ({ drainDelayMs = options.drainDelayMs, timeoutMs = options.shutdownTimeoutMs } = {}) =>
      (stopped ??= stopWithin(drainDelayMs, timeoutMs)),
    get address() {
      const address = server.address();
      return typeof address === "object" && address !== null ? address : undefined;
    },
    get stopping() {
      return stopped !== undefined;
    },
  };
}

function addressFields(server: Server): { address?: string; port?: number } {
  const address = server.address();
  return typeof address === "object" && address !== null
    ? { address: address.address, port: address.port }
    : {};
}
