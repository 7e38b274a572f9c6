import type { Logger } from "@svc/context";
import { stopPhases } from "@svc/plugin";
import { setTimeout as delay } from "node:timers/promises";
import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import { closeServer, cutConnections } from "./close-server.ts";
import type { InFlight } from "./in-flight.ts";
import type { StopHooks } from "./stop-hooks.ts";
import type { Work } from "./work/work.ts";

/** Receives the service's state, so that `/ready` can report it. */
export interface StateListener {
  setState(state: "starting" | "serving" | "draining"): void;
}

export interface RunnerOptions {
  readonly server: Server;
  readonly inFlight: InFlight;
  readonly hooks: StopHooks;
  readonly health: StateListener | undefined;
  /** The background work. Default: none. */
  readonly work?: Work | undefined;
  readonly logger: () => Logger | undefined;
  readonly host: string;
  readonly port: number;
  /** Milliseconds during which a stopping service still accepts requests while `/ready` reports 503. */
  readonly drainDelayMs: number;
  /** Time limit for the shutdown, in milliseconds. */
  readonly shutdownTimeoutMs: number;
}

/** Starts a server, and shuts it down gracefully. */
export interface Runner {
  start(): Promise<void>;
  /**
   * Stops the server; further calls return the same result. Resolves with the exit code: 0, or 1 if the time limit
   * ended the stop early.
   */
  stop(options?: { readonly drainDelayMs?: number; readonly timeoutMs?: number }): Promise<number>;
  /** Releases the running background work immediately. */
  hurry(): Promise<void>;
  readonly address: AddressInfo | undefined;
  readonly stopping: boolean;
}

/** Time reserved for the stop hooks, in milliseconds; at most a quarter of the time limit of the stop. */
const hookReserveMs = 5_000;

/** Minimum pause between two log records about connections that cannot be accepted, in milliseconds. */
const errorPauseMs = 10_000;

export function createRunner(options: RunnerOptions): Runner {
  const { server, inFlight, hooks, health, work, logger } = options;
  let started: Promise<void> | undefined;
  let stopped: Promise<number> | undefined;
  let loggedAt = -Infinity;

  async function listen(): Promise<void> {
    if (stopped !== undefined) throw new Error("the service has been stopped; make a new one");
    await work?.prepare();
    server.listen(options.port, options.host);
    await once(server, "listening");
    server.on("error", onError);
    health?.setState("serving");
    logger()?.info(addressFields(server), "listening");
    work?.start();
  }

  // Without a listener, an error while accepting a connection would end the process.
  function onError(err: Error): void {
    const now = performance.now();
    if (now - loggedAt < errorPauseMs) return;
    loggedAt = now;
    logger()?.error({ err }, "the server cannot accept a connection");
  }

  /** @param serverMs time until connections are cut; the hooks get the remaining time */
  async function stopInOrder(drainDelayMs: number, serverMs: number, cut: AbortSignal): Promise<number> {
    const cutAt = performance.now() + serverMs;
    health?.setState("draining");
    // Stop claiming jobs now, so that other processes run them.
    const worked = work?.stop(serverMs);
    inFlight.closeConnections();
    phase("drain", { drain_delay_ms: drainDelayMs, in_flight: inFlight.size });
    // The load balancer needs this time to notice `/ready` and to route its requests to other replicas.
    if (server.listening) await delay(drainDelayMs, undefined, { signal: cut }).catch(() => undefined);
    phase("server", { in_flight: inFlight.size });
    let code = 0;
    const last = setTimeout(
      () => {
        code = 1;
        cutAll(serverMs);
      },
      Math.max(0, cutAt - performance.now()),
    );
    await closeServer(server, inFlight);
    clearTimeout(last);
    for (const each of stopPhases) {
      if (cut.aborted) return 1;
      phase(each, {});
      await Promise.all([hooks.run(each), each === "work" ? worked : undefined]);
    }
    phase("done", {});
    return code;
  }

  function cutAll(afterMs: number): void {
    const fields = { in_flight: inFlight.size, timeout_ms: afterMs };
    logger()?.error(fields, "stopping took too long; connections are cut");
    cutConnections(server);
  }

  function phase(name: string, fields: object): void {
    logger()?.info({ phase: name, ...fields }, "stopping");
  }

  async function stopWithin(drainDelayMs: number, timeoutMs: number): Promise<number> {
    // A signal may arrive before the server listens.
    await started?.catch(() => undefined);
    const cut = new AbortController();
    const serverMs = timeoutMs - Math.min(hookReserveMs, timeoutMs / 4);
    const orderly = stopInOrder(drainDelayMs, serverMs, cut.signal);
    const timer = new AbortController();
    const cap = delay(timeoutMs, undefined, { signal: timer.signal });
    cap.catch(() => undefined);
    const code = await Promise.race([orderly, cap]);
    timer.abort();
    if (code === undefined) {
      cut.abort();
      cutAll(timeoutMs);
    }
    inFlight.stop();
    return code ?? 1;
  }

  return {
    start: () => (started ??= listen()),
    stop: ({ drainDelayMs = options.drainDelayMs, timeoutMs = options.shutdownTimeoutMs } = {}) =>
      (stopped ??= stopWithin(drainDelayMs, timeoutMs)),
    hurry: async () => work?.hurry(),
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
