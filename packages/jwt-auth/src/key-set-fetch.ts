import { setTimeout as sleep } from "node:timers/promises";
import { backoff, withDeadline } from "@svc/resilience";
import { KeySetError, keySetErrorOf } from "./key-set-error.ts";

/** Largest accepted key set, in bytes (KEY-13). */
export const MOST_BYTES = 1_048_576;

/** Settings of one fetch of a key set. */
export interface FetchPlan {
  readonly url: URL;
  /** Most attempts, including the first. */
  readonly attempts: number;
  /** Timeout for all attempts, their pauses and the body. */
  readonly timeoutMs: number;
  readonly fetch: typeof globalThis.fetch;
  /** Monotonic clock in milliseconds. */
  readonly now: () => number;
  readonly random: () => number;
}

const HEADERS = { accept: "application/jwk-set+json, application/json" } as const;

/**
 * Fetches a JSON document. Retries after 429, 5xx, network errors and attempts that hang (KEY-7, KEY-8), within one
 * deadline (KEY-6). Each attempt except the last gets an even share of the remaining time, so that one that hangs leaves
 * time for the next.
 *
 * @param signal from the caller; aborts at the deadline of the plan
 * @throws KeySetError when no attempt succeeds
 */
export async function fetchDocument(plan: FetchPlan, signal: AbortSignal): Promise<unknown> {
  const { attempts, timeoutMs, now } = plan;
  const delayMs = backoff({ baseMs: 1000, maxMs: 1000, minMs: 200, random: plan.random });
  const endsAt = now() + timeoutMs;
  for (let made = 1; ; made++) {
    const left = endsAt - now();
    try {
      if (made === attempts) return await tryOnce(plan, signal);
      return await withDeadline(left / (attempts - made + 1), (ends) => tryOnce(plan, ends), { signal });
    } catch (error) {
      signal.throwIfAborted();
      const failure = keySetErrorOf(error);
      const pause = pauseMs(failure, delayMs(made), endsAt - now());
      if (made === attempts || pause === undefined) throw failure;
      await sleep(pause, undefined, { signal });
    }
  }
}

/** Returns the pause before the next attempt, or undefined when there is none. */
function pauseMs(failure: KeySetError, usual: number, left: number): number | undefined {
  if (!failure.retryable || usual >= left) return undefined;
  const { retryAfterMs = 0 } = failure;
  // Ignore a Retry-After beyond the deadline, and pause as usual.
  return retryAfterMs < left ? Math.max(usual, retryAfterMs) : usual;
}

async function tryOnce({ url, fetch }: FetchPlan, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(url, {
    headers: HEADERS,
    // A redirect must be an answer: as an error it would look like a broken network.
    redirect: "manual",
    credentials: "omit",
    cache: "no-store",
    signal,
  });
  const refusal = refusalOf(response);
  if (refusal !== undefined) {
    response.body?.cancel().catch(() => undefined);
    throw refusal;
  }
  return parsed(await bytesOf(response));
}

function refusalOf({ status, ok, type, headers }: Response): KeySetError | undefined {
  if (type === "opaqueredirect" || (status >= 300 && status < 400)) {
    return new KeySetError(`the endpoint redirects (${status}), which is not followed`);
  }
  if (!ok) {
    return new KeySetError(`the endpoint answered ${status}`, {
      retryable: status === 429 || status >= 500,
      retryAfterMs: secondsOf(headers.get("retry-after")),
    });
  }
  return Number(headers.get("content-length") ?? 0) > MOST_BYTES ? tooLarge() : undefined;
}

function secondsOf(retryAfter: string | null): number | undefined {
  return retryAfter !== null && /^\d{1,9}$/.test(retryAfter) ? Number(retryAfter) * 1000 : undefined;
}

function tooLarge(): KeySetError {
  return new KeySetError("the answer is larger than 1 MiB");
}

async function bytesOf(response: Response): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  // A throw out of this loop cancels the stream and closes the connection.
  for await (const chunk of response.body ?? []) {
    length += chunk.byteLength;
    if (length > MOST_BYTES) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length);
}

function parsed(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw new KeySetError("the answer is not JSON");
  }
}
