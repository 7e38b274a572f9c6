import { setTimeout as sleep } from "node:timers/promises";
import { backoff, withDeadline } from "@svc/resilience";
import { KeySetError, keySetErrorOf } from "./key-set-error.ts";

/** As much of a key set is read (KEY-13). */
export const MOST_BYTES = 1_048_576;

/** How a key set is fetched. */
export interface FetchPlan {
  readonly url: URL;
  /** Tries at most, the first one included. */
  readonly attempts: number;
  /** For all tries, what lies between them, and the body. */
  readonly timeoutMs: number;
  readonly fetch: typeof globalThis.fetch;
  readonly random: () => number;
}

const HEADERS = { accept: "application/jwk-set+json, application/json" } as const;

/**
 * Fetches a JSON document. Tries again after 429, 5xx, network errors and tries that hang (KEY-7, KEY-8),
 * within one deadline (KEY-6): every try but the last has an even share of the time that is left, or one that
 * hangs would leave nothing for the next.
 *
 * @param signal aborts at the deadline of the plan; whoever calls has set it
 * @throws KeySetError
 */
export async function fetchDocument(plan: FetchPlan, signal: AbortSignal): Promise<unknown> {
  const { attempts, timeoutMs } = plan;
  const delayMs = backoff({ baseMs: 1000, maxMs: 1000, minMs: 200, random: plan.random });
  const endsAt = performance.now() + timeoutMs;
  for (let made = 1; ; made++) {
    const left = endsAt - performance.now();
    try {
      if (made === attempts) return await tryOnce(plan, signal);
      return await withDeadline(left / (attempts - made + 1), (ends) => tryOnce(plan, ends), { signal });
    } catch (error) {
      signal.throwIfAborted();
      const failure = keySetErrorOf(error);
      const pause = pauseMs(failure, delayMs(made), endsAt - performance.now());
      if (made === attempts || pause === undefined) throw failure;
      await sleep(pause, undefined, { signal });
    }
  }
}

/** How long to wait before the next try; undefined where there is none. */
function pauseMs(failure: KeySetError, usual: number, left: number): number | undefined {
  if (!failure.retryable || usual >= left) return undefined;
  const { retryAfterMs = 0 } = failure;
  // A wait that would outlast the deadline says nothing about the next refresh either.
  return retryAfterMs < left ? Math.max(usual, retryAfterMs) : usual;
}

async function tryOnce({ url, fetch }: FetchPlan, signal: AbortSignal): Promise<unknown> {
  const response = await fetch(url, {
    headers: HEADERS,
    // Read as an answer instead of thrown as an error, which could not be told from a broken network.
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
  // Leaving the loop by a throw cancels the stream, and with it the connection.
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
