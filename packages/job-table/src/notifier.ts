import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";

/** Decides which inserts notify the workers immediately, and sends the delayed notifications. */
export interface Notifier {
  /** Returns the channel to notify in this statement; undefined if a later notification covers it. */
  channelFor(options: { readonly transaction: boolean }): string | undefined;
}

const MAX_CHANNEL_BYTES = 63;
// A delayed notification belongs to no request, although one of them starts its timer.
const outside = AsyncLocalStorage.snapshot();

/**
 * The longest pause between two sweeps of a quiet table, in milliseconds; twice that while old snapshots slow sweeps
 * down. A job that becomes due sooner needs a notification; a job queued without one, for example by another program,
 * may start this late.
 */
export const QUIET_PAUSE_MS = 5000;

export function channelOf(table: string): string {
  const channel = `svc_job:${table}`;
  if (Buffer.byteLength(channel) <= MAX_CHANNEL_BYTES) return channel;
  return `svc_job:${createHash("sha256").update(table).digest("hex").slice(0, 32)}`;
}

/**
 * Creates a notifier. Committing a notification takes a server-wide lock, so a process sends one immediately and then
 * at most one per interval, at its end. In a caller's transaction, every insert notifies at commit.
 */
export function createNotifier(
  channel: string,
  everyMs: number,
  now: () => number,
  sendLate: () => Promise<unknown>,
): Notifier {
  let notBefore = -Infinity;
  let waiting = false;

  function later(inMs: number): void {
    if (waiting) return;
    waiting = true;
    const timer = setTimeout(() => {
      waiting = false;
      notBefore = now() + everyMs;
      // After a lost notification, the workers' next poll finds the job.
      outside(sendLate).catch(() => undefined);
    }, inMs);
    timer.unref();
  }

  return {
    channelFor({ transaction }) {
      const at = now();
      if (transaction || everyMs === 0) return channel;
      if (at >= notBefore) {
        notBefore = at + everyMs;
        return channel;
      }
      later(Math.max(1, notBefore - at));
      return undefined;
    },
  };
}
