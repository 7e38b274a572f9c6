import type { BreakerState, Outcome } from "@svc/resilience";
import type { CommandArgument } from "./connection.ts";
import { CacheUnavailableError } from "./errors.ts";

/** A command on its way. Who calls `reject` before the answer is there decides what its promise rejects with. */
export interface Sent {
  readonly promise: Promise<unknown>;
  readonly reject: (error: Error) => void;
}

/** Sends a command, or rejects where it cannot. */
export type Send = (command: string, args: readonly CommandArgument[]) => Sent;

export interface GateOptions {
  /** Answers in a row that say that the server is of no use, after which it is not called. */
  readonly failures: number;
  readonly coolDownMs: number;
  /** How long a command may take. */
  readonly timeoutMs: number;
  readonly maxInFlight: number;
  readonly now: () => number;
  readonly onChange: (to: BreakerState) => void;
  /** What an error says about Redis, and what the caller gets to see of it. */
  readonly judge: (error: unknown) => { readonly outcome: Outcome; readonly error: Error };
  /** Sends something whose answer says whether the server is of use again. */
  readonly probe: () => Sent;
}

/** Lets commands through to one server, gives each its deadline, and stops letting them through when it is of no use. */
export interface Gate {
  /** @param onError sees every error before the caller does */
  run(
    send: Send,
    command: string,
    args: readonly CommandArgument[],
    onError?: (error: Error) => void,
  ): Promise<unknown>;
  /** There is reason to believe that the server answers again: an open gate probes at once. */
  hope(): void;
  /** Refuses all commands from now on; resolves when those under way have ended, which takes no longer than a deadline. */
  stop(): Promise<void>;
  /** `half-open`: the probe is under way; commands are still refused. */
  readonly state: BreakerState;
  readonly inFlight: number;
}

interface Waiting {
  readonly until: number;
  readonly sent: Sent;
}

const STALL_MS = 50;
const SHORTEST_WINDOW_MS = 100;

/**
 * A command that ran into its deadline closes the gate at once: nobody else is to wait as long for the same news. A
 * connection that is refused or lost says so at once, and commands without one are refused anyhow, so it does not
 * count here; a server that answers that it is of no use (LOADING, say) costs nobody a wait, and may do so `failures` times.
 *
 * A closed gate is opened by a probe of its own, one every `coolDownMs`: no command has to wait to find out.
 */
export function createGate(options: GateOptions): Gate {
  const { failures: limit, coolDownMs, timeoutMs, maxInFlight, now, judge, onChange } = options;
  // In the order of their deadlines, since all have the same time.
  const waiting = new Set<Waiting>();
  let timer: NodeJS.Timeout | undefined;
  let stopped: (() => void) | undefined;
  let whenStopped: Promise<void> | undefined;
  let state: BreakerState = "closed";
  let failures = 0;
  let probeTimer: NodeJS.Timeout | undefined;
  let probeAt = 0;
  let probing: Waiting | undefined;

  function arm(): void {
    const [oldest] = waiting;
    if (oldest === undefined || timer !== undefined) return;
    timer = setTimeout(due, Math.max(1, Math.ceil(oldest.until - performance.now())), oldest.until);
  }

  // After a stall of this process, answers that are there already are read before anything counts as late.
  function due(until: number): void {
    if (performance.now() - until > STALL_MS) timer = setTimeout(expire, STALL_MS);
    else setImmediate(expire);
  }

  function expire(): void {
    timer = undefined;
    const [oldest] = waiting;
    if (oldest !== undefined && oldest.until <= performance.now()) timedOut(oldest);
    arm();
  }

  // The server hangs: whoever waits for it any longer waits for nothing.
  function timedOut(late: Waiting): void {
    if (late === probing) endProbe("failed");
    else open();
    giveUp();
  }

  function giveUp(): void {
    const all = [...waiting];
    waiting.clear();
    for (const { sent } of all) sent.reject(new CacheUnavailableError("timeout", coolDownMs));
    if (stopped !== undefined) end();
  }

  function leave(entry: Waiting): boolean {
    const was = waiting.delete(entry);
    if (stopped !== undefined && waiting.size === 0) end();
    return was;
  }

  function end(): void {
    clearTimeout(timer);
    clearTimeout(probeTimer);
    stopped?.();
  }

  function change(to: BreakerState): void {
    state = to;
    onChange(to);
  }

  function open(): void {
    if (state === "open") return;
    probeAt = now() + coolDownMs;
    schedule(coolDownMs);
    change("open");
  }

  function schedule(ms: number): void {
    clearTimeout(probeTimer);
    probeTimer = setTimeout(probeWhenDue, Math.max(SHORTEST_WINDOW_MS, ms)).unref();
  }

  function probeWhenDue(): void {
    if (state !== "open") return;
    const left = probeAt - now();
    if (left > 0) schedule(left);
    else probe();
  }

  function probe(): void {
    if (state !== "open" || whenStopped !== undefined) return;
    clearTimeout(probeTimer);
    probeAt = now() + coolDownMs;
    change("half-open");
    const entry = watch(options.probe());
    probing = entry;
    entry.sent.promise.then(
      () => {
        if (leave(entry)) endProbe("succeeded");
      },
      (cause: unknown) => {
        if (leave(entry)) endProbe(judge(cause).outcome);
      },
    );
  }

  function endProbe(outcome: Outcome): void {
    probing = undefined;
    if (outcome !== "succeeded") return open();
    failures = 0;
    change("closed");
  }

  function watch(sent: Sent): Waiting {
    const entry: Waiting = { until: performance.now() + timeoutMs, sent };
    waiting.add(entry);
    if (timer === undefined) arm();
    return entry;
  }

  function account(outcome: Outcome): void {
    // What was sent before the gate closed says nothing about whether it may open.
    if (state !== "closed" || outcome === "cancelled") return;
    failures = outcome === "failed" ? failures + 1 : 0;
    if (failures < limit) return;
    open();
    giveUp();
  }

  function failed(entry: Waiting | undefined, cause: unknown, onError: (error: Error) => void): Error {
    // It was given up, with the error that says so.
    const isOurs = cause instanceof CacheUnavailableError;
    const { outcome, error } = isOurs ? { outcome: "cancelled" as const, error: cause } : judge(cause);
    if (entry === undefined || leave(entry)) account(outcome);
    onError(error);
    return error;
  }

  function run(
    send: Send,
    command: string,
    args: readonly CommandArgument[],
    onError: (error: Error) => void = ignore,
  ): Promise<unknown> {
    if (whenStopped !== undefined) return refusal("stopped", 0, onError);
    if (state !== "closed") {
      probeWhenDue();
      return refusal("breaker", Math.max(0, probeAt - now()), onError);
    }
    if (waiting.size >= maxInFlight) return refusal("busy", timeoutMs, onError);
    let sent: Sent;
    try {
      sent = send(command, args);
    } catch (error) {
      return Promise.reject(failed(undefined, error, onError));
    }
    const entry = watch(sent);
    return sent.promise.then(
      (value) => {
        if (leave(entry)) failures = 0;
        return value;
      },
      (cause: unknown) => {
        throw failed(entry, cause, onError);
      },
    );
  }

  return {
    run,
    hope: probe,
    stop() {
      whenStopped ??= new Promise((resolve) => {
        stopped = resolve;
        if (probing !== undefined) giveUp();
        if (waiting.size === 0) end();
      });
      return whenStopped;
    },
    get state() {
      return state;
    },
    get inFlight() {
      return waiting.size;
    },
  };
}

function ignore(): void {
  // Not every caller counts errors.
}

function refusal(
  reason: "stopped" | "busy" | "breaker",
  retryAfterMs: number,
  onError: (error: Error) => void,
): Promise<never> {
  const error = new CacheUnavailableError(reason, retryAfterMs);
  onError(error);
  return Promise.reject(error);
}
