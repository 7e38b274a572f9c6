import { setTimeout as sleep } from "node:timers/promises";
import { AnswerTooLargeError, backoff, boundedFetch, jsonOf } from "@svc/resilience";
import { KeySetError, keySetErrorOf } from "./key-set-error.ts";

/** Largest accepted key set, in bytes (KEY-13). */
const MOST_BYTES = 1_048_576;

/** Settings of one fetch of a key set. */
export interface FetchPlan {
  readonly url: URL;
  /** Maximum number of attempts, including the first. */
  readonly attempts: number;
  /** Timeout for all attempts together, including pauses and the body. */
  readonly timeoutMs: number;
  /** Shortest timeout of an attempt, in milliseconds, even if it leaves no time for the next. Default: none. */
  readonly leastMs?: number;
  readonly fetch: typeof globalThis.fetch;
  /** Monotonic clock in milliseconds. */
  readonly now: () => number;
  readonly random: () => number;
}

const HEADERS = { accept: "application/jwk-set+json, application/json" } as const;

/**
 * Fetches a JSON document. Retries after 429, 5xx, network errors and attempts that hang (KEY-7, KEY-8), within one
 * deadline (KEY-6). Each attempt except the last gets an equal share of the remaining time, and at least `leastMs`, so that
 * a hanging attempt leaves time for the next.
 *
 * @param signal aborts at the deadline of the plan, or earlier if the source is stopped
 * @throws KeySetError when no attempt succeeds
 */
export async function fetchDocument(plan: FetchPlan, signal: AbortSignal): Promise<unknown> {
  const { attempts, timeoutMs, leastMs = 0, now } = plan;
  const delayMs = backoff({ baseMs: 1000, maxMs: 1000, minMs: 200, random: plan.random });
  const endsAt = now() + timeoutMs;
  for (let made = 1; ; made++) {
    const left = endsAt - now();
    try {
      // The last attempt has no timeout of its own: `signal` ends it, with an error that names the whole timeout.
      const share = Math.max(leastMs, left / (attempts - made + 1));
      return await tryOnce(plan, made === attempts ? Infinity : share, signal);
    } catch (error) {
      signal.throwIfAborted();
      const failure = keySetErrorOf(error);
      const pause = pauseMs(failure, delayMs(made), endsAt - now());
      if (made === attempts || pause === undefined) throw failure;
      await sleep(pause, undefined, { signal });
    }
  }
}

/** Returns the pause before the next attempt, or undefined if there is no next attempt. */
function pauseMs(failure: KeySetError, usual: number, left: number): number | undefined {
  if (!failure.retryable || usual >= left) return undefined;
  const { retryAfterMs = 0 } = failure;
  // Ignore a Retry-After that is beyond the deadline, and use the usual pause.
  return retryAfterMs < left ? Math.max(usual, retryAfterMs) : usual;
}

async function tryOnce({ url, fetch }: FetchPlan, timeoutMs: number, signal: AbortSignal): Promise<unknown> {
  const init = { headers: HEADERS, credentials: "omit", cache: "no-store" } as const;
  const limits = { timeoutMs, maxBytes: MOST_BYTES, signal, accept: checkAnswer, fetch };
  const { body } = await boundedFetch(url, init, limits).catch((error: unknown) => {
    throw error instanceof AnswerTooLargeError ? new KeySetError("the response is larger than 1 MiB") : error;
  });
  const document = jsonOf(body);
  if (document === undefined) throw new KeySetError("the response is not JSON");
  return document;
}

/** @throws KeySetError for a response that cannot contain keys */
function checkAnswer({ status, ok, type, headers }: Response): void {
  if (type === "opaqueredirect" || (status >= 300 && status < 400)) {
    throw new KeySetError(`the endpoint returned a redirect (${status}), which is not followed`);
  }
  if (ok) return;
  throw new KeySetError(`the endpoint answered ${status}`, {
    retryable: status === 429 || status >= 500,
    retryAfterMs: secondsOf(headers.get("retry-after")),
  });
}

function secondsOf(retryAfter: string | null): number | undefined {
  return retryAfter !== null && /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) * 1000 : undefined;
}
