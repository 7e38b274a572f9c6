import type { BreakerState, Outcome } from "@svc/resilience";
import type { CommandArgument } from "./client.ts";
import type { Send, Sent } from "./connection.ts";
import { RedisUnavailableError } from "./errors.ts";
import type { RedisOwner, ResolvedRedisOptions } from "./options.ts";
import { judgeFor } from "./outcome.ts";

type OnError = (error: Error) => void;

/** The circuit breaker and command deadline of one server. */
export interface Guard {
  /** @param onError receives every error before the caller does */
  run(send: Send, command: string, args: readonly CommandArgument[], onError?: OnError): Promise<unknown>;
  /** Probes immediately if the breaker is open. Called when the server probably responds again. */
  probeNow(): void;
  /** Rejects new commands. Resolves when all commands in flight have settled, at the latest after one deadline. */
  stop(): Promise<void>;
  /** `half-open`: the probe is in flight, and commands are still rejected. */
  readonly state: BreakerState;
  readonly inFlight: number;
}

interface InFlight {
  readonly until: number;
  readonly sent: Sent;
}

const STALL_MS = 50;
const SHORTEST_WINDOW_MS = 100;

/**
 * Creates a circuit breaker. The first timeout opens it, so that later commands do not wait for a deadline too. A
 * refused or lost connection does not count, because commands without a connection are rejected immediately anyway. A reply
 * that the server is unusable (such as LOADING) arrives immediately, so only `breakerFailures` consecutive replies of this
 * kind open the breaker.
 *
 * While the breaker is open, a probe is sent every `breakerCoolDownMs`; its success closes the breaker. No command
 * waits for a probe.
 *
 * @param sendProbe sends a command whose reply shows whether the server is usable again
 */
export function createGuard(
  options: ResolvedRedisOptions,
  owner: RedisOwner,
  sendProbe: () => Sent,
  onChange: (to: BreakerState) => void,
): Guard {
  const { breakerFailures, breakerCoolDownMs: coolDownMs, commandTimeoutMs, maxInFlight, now } = options;
  const { UnavailableError } = owner;
  const judge = judgeFor(owner);
  // Ordered by deadline, because all commands have the same time limit.
  const inFlight = new Set<InFlight>();
  let timer: NodeJS.Timeout | undefined;
  let stopped: (() => void) | undefined;
  let whenStopped: Promise<void> | undefined;
  let state: BreakerState = "closed";
  let failures = 0;
  let probeTimer: NodeJS.Timeout | undefined;
  let probeAt = 0;
  let probing: InFlight | undefined;

  function arm(): void {
    const [oldest] = inFlight;
    if (oldest === undefined || timer !== undefined) return;
    timer = setTimeout(due, Math.max(1, Math.ceil(oldest.until - performance.now())), oldest.until);
  }

  // After a stall of this process, read the replies that have arrived before rejecting commands at their deadline.
  function due(until: number): void {
    if (performance.now() - until > STALL_MS) timer = setTimeout(expire, STALL_MS);
    else setImmediate(expire);
  }

  function expire(): void {
    timer = undefined;
    const [oldest] = inFlight;
    if (oldest !== undefined && oldest.until <= performance.now()) {
      // The server hangs, so reject all pending commands.
      if (oldest === probing) endProbe("failed");
      else open();
      rejectAll();
    }
    arm();
  }

  function rejectAll(): void {
    const all = [...inFlight];
    inFlight.clear();
    for (const { sent } of all) sent.reject(new UnavailableError("timeout", coolDownMs));
    if (stopped !== undefined) end();
  }

  function settle(entry: InFlight): boolean {
    const was = inFlight.delete(entry);
    if (stopped !== undefined && inFlight.size === 0) end();
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
    const entry = watch(sendProbe());
    probing = entry;
    entry.sent.promise.then(
      () => settle(entry) && endProbe("succeeded"),
      (cause: unknown) => settle(entry) && endProbe(judge(cause).outcome),
    );
  }

  function endProbe(outcome: Outcome): void {
    probing = undefined;
    if (outcome !== "succeeded") return open();
    failures = 0;
    change("closed");
  }

  function watch(sent: Sent): InFlight {
    const entry: InFlight = { until: performance.now() + commandTimeoutMs, sent };
    inFlight.add(entry);
    if (timer === undefined) arm();
    return entry;
  }

  function account(outcome: Outcome): void {
    // A command that was sent before the breaker opened must not affect its state.
    if (state !== "closed" || outcome === "cancelled") return;
    failures = outcome === "failed" ? failures + 1 : 0;
    if (failures < breakerFailures) return;
    open();
    rejectAll();
  }

  function failed(entry: InFlight | undefined, cause: unknown, onError?: OnError): Error {
    // The command was already rejected by a timeout or a stop.
    const isOurs = cause instanceof RedisUnavailableError;
    const { outcome, error } = isOurs ? { outcome: "cancelled" as const, error: cause } : judge(cause);
    if (entry === undefined || settle(entry)) account(outcome);
    onError?.(error);
    return error;
  }

  function refusal(
    reason: "stopped" | "busy" | "breaker",
    retryAfterMs: number,
    onError?: OnError,
  ): Promise<never> {
    const error = new UnavailableError(reason, retryAfterMs);
    onError?.(error);
    return Promise.reject(error);
  }

  function run(
    send: Send,
    command: string,
    args: readonly CommandArgument[],
    onError?: OnError,
  ): Promise<unknown> {
    if (whenStopped !== undefined) return refusal("stopped", 0, onError);
    if (state !== "closed") {
      probeWhenDue();
      return refusal("breaker", Math.max(0, probeAt - now()), onError);
    }
    if (inFlight.size >= maxInFlight) return refusal("busy", commandTimeoutMs, onError);
    let sent: Sent;
    try {
      sent = send(command, args);
    } catch (error) {
      return Promise.reject(failed(undefined, error, onError));
    }
    const entry = watch(sent);
    return sent.promise.then(
      (value) => {
        if (settle(entry)) failures = 0;
        return value;
      },
      (cause: unknown) => {
        throw failed(entry, cause, onError);
      },
    );
  }

  return {
    run,
    probeNow: probe,
    stop() {
      whenStopped ??= new Promise((resolve) => {
        stopped = resolve;
        if (probing !== undefined) rejectAll();
        if (inFlight.size === 0) end();
      });
      return whenStopped;
    },
    get state() {
      return state;
    },
    get inFlight() {
      return inFlight.size;
    },
  };
}
