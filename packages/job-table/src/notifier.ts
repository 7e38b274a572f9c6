import { createHash } from "node:crypto";

/** Decides which enqueue tells the workers itself, and sends what was held back. */
export interface Notifier {
  /** The channel when the statement at hand is to notify; undefined when it need not. */
  channelFor(options: { readonly transaction: boolean }): string | undefined;
}

const MAX_CHANNEL_BYTES = 63;

/** The channel that a table's workers listen on. */
export function channelOf(table: string): string {
  const channel = `svc_job:${table}`;
  if (Buffer.byteLength(channel) <= MAX_CHANNEL_BYTES) return channel;
  return `svc_job:${createHash("sha256").update(table).digest("hex").slice(0, 32)}`;
}

/**
 * Every notification takes a lock of the whole server at its commit. So a process sends one at once and then at most one every
 * few milliseconds, the last of them when the time is up: a worker that found nothing in between is told once more. In a
 * transaction of the caller it always belongs to the commit.
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
      // Workers look by themselves before long: a message that is lost costs them that time.
      sendLate().catch(() => undefined);
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
