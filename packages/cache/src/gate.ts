import {
  type Attempt,
  type BreakerChange,
  type BreakerState,
  createBreaker,
  type Outcome,
} from "@svc/resilience";
import { CacheUnavailableError } from "./errors.ts";

export interface GateOptions {
  readonly failures: number;
  readonly coolDownMs: number;
  /** How long a command may take. */
  readonly timeoutMs: number;
  readonly maxInFlight: number;
  readonly now: () => number;
  readonly onChange: (change: BreakerChange) => void;
  /** What an error says about Redis, and what the caller gets to see of it. */
  readonly judge: (error: unknown) => { readonly outcome: Outcome; readonly error: Error };
}

/** Lets commands through to one server, gives each its deadline, and stops letting them through when it is of no use. */
export interface Gate {
  /**
   * @param send is told whether somebody still waits for the command, for when it could be sent only later
   * @param onError sees every error before the caller does
   */
  run<T>(send: (isWanted: () => boolean) => Promise<T>, onError?: (error: Error) => void): Promise<T>;
  /** Refuses all commands from now on; resolves when those under way have ended, which takes no longer than a deadline. */
  stop(): Promise<void>;
  readonly state: BreakerState;
  readonly inFlight: number;
}

interface Waiting {
  readonly until: number;
  readonly attempt: Attempt;
  readonly reject: (error: Error) => void;
}

const STALL_MS = 50;

export function createGate(options: GateOptions): Gate {
  const { failures, coolDownMs, timeoutMs, maxInFlight, now, judge } = options;
  // In the order of their deadlines, since all have the same time.
  const waiting = new Set<Waiting>();
  let timer: NodeJS.Timeout | undefined;
  let stopped: (() => void) | undefined;
  let whenStopped: Promise<void> | undefined;
  const breaker = createBreaker({
    failures,
    coolDownMs,
    now,
    onChange(change) {
      if (change.to === "open") giveUpAll();
      options.onChange(change);
    },
  });

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
    const at = performance.now();
    for (const each of waiting) {
      if (each.until > at) break;
      leave(each);
      each.attempt.failed();
      each.reject(new CacheUnavailableError("timeout", coolDownMs));
    }
    arm();
  }

  // The server hangs: whoever waits for it any longer waits for nothing.
  function giveUpAll(): void {
    const all = [...waiting];
    waiting.clear();
    for (const { reject } of all) reject(new CacheUnavailableError("timeout", coolDownMs));
  }

  function leave(entry: Waiting): boolean {
    const was = waiting.delete(entry);
    if (waiting.size === 0 && stopped !== undefined) end();
    return was;
  }

  function end(): void {
    clearTimeout(timer);
    stopped?.();
  }

  function run<T>(
    send: (isWanted: () => boolean) => Promise<T>,
    onError: (error: Error) => void = ignore,
  ): Promise<T> {
    if (whenStopped !== undefined) return refusal("stopped", 0, onError);
    if (waiting.size >= maxInFlight) return refusal("busy", timeoutMs, onError);
    const attempt = breaker.attempt();
    if (attempt === undefined) return refusal("breaker", breaker.retryAfterMs, onError);
    return new Promise<T>((resolve, tell) => {
      const reject = (error: Error): void => {
        onError(error);
        tell(error);
      };
      const entry: Waiting = { until: performance.now() + timeoutMs, attempt, reject };
      waiting.add(entry);
      if (timer === undefined) arm();
      const failed = (cause: unknown): void => {
        if (!leave(entry)) return;
        const { outcome, error } = judge(cause);
        attempt[outcome]();
        reject(error);
      };
      try {
        send(() => waiting.has(entry)).then((value) => {
          if (!leave(entry)) return;
          attempt.succeeded();
          resolve(value);
        }, failed);
      } catch (error) {
        failed(error);
      }
    });
  }

  return {
    run,
    stop() {
      whenStopped ??= new Promise((resolve) => {
        stopped = resolve;
        if (waiting.size === 0) end();
      });
      return whenStopped;
    },
    get state() {
      return breaker.state;
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
