import { setTimeout as sleep } from "node:timers/promises";

/** The outcome of a call: its result, its error, or that it was still pending at the time limit. */
export interface Ending {
  readonly value?: unknown;
  readonly error?: unknown;
  /** The code of the error; `none` for a result, `still waits` if the call was still pending. */
  readonly code: string;
}

/**
 * Returns the outcome of a call.
 * @param ms time limit in milliseconds, so that a call that hangs fails an assertion
 */
export async function endingOf(call: Promise<unknown>, ms = 6000): Promise<Ending> {
  const end = new AbortController();
  try {
    return await Promise.race([
      call.then((value) => ({ value, code: "none" })),
      sleep(ms, { code: "still waits" }, { signal: end.signal }),
    ]);
  } catch (error) {
    return { error, code: String((error as { readonly code?: unknown }).code) };
  } finally {
    end.abort();
  }
}

/** The methods that freeze a server. */
export interface Freezable {
  pause(): void;
  resume(): void;
}

/** Runs a call while the server is frozen. */
export async function whileFrozen(server: Freezable, call: () => Promise<unknown>): Promise<Ending> {
  server.pause();
  try {
    return await endingOf(call());
  } finally {
    server.resume();
  }
}

interface Pool {
  readonly options: { readonly max?: number | undefined };
  connect(): Promise<{ release(): void }>;
}

/** Runs a call while all connections of the pool are in use. */
export async function whileExhausted(pool: Pool, call: () => Promise<unknown>): Promise<Ending> {
  const held = await Promise.all(Array.from({ length: pool.options.max ?? 1 }, () => pool.connect()));
  try {
    return await endingOf(call());
  } finally {
    for (const each of held) each.release();
  }
}
