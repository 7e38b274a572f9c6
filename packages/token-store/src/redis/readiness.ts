import type { CheckResult, ReadinessCheck } from "@svc/context";
import { replyWord } from "@svc/redis/scripts";
import { DeadlineError, withDeadline } from "@svc/resilience";
import type { RedisLike } from "./options.ts";

// INFO runs in a script, because `RedisLike` has no other method for it. Because of the key, a cluster always runs it on
// the same server.
const LOOK = `redis.call('EXISTS', KEYS[1])
return redis.call('INFO', 'memory')`;

/**
 * Creates the check that Redis responds (RDY-22). It reports an eviction policy that may drop revocations; a server
 * that does not reveal its policy counts as healthy.
 */
export function createReadiness(
  name: string,
  redis: RedisLike,
  { key, timeoutMs }: { readonly key: string; readonly timeoutMs: number },
): ReadinessCheck {
  async function look(): Promise<string | undefined> {
    await redis.mget(key);
    try {
      const memory = await redis.eval(LOOK, 1, key);
      return /^maxmemory_policy:([\w-]{1,40})\s*$/m.exec(String(memory))?.[1];
    } catch {
      return undefined;
    }
  }

  async function check(signal: AbortSignal): Promise<CheckResult> {
    try {
      const policy = await withDeadline(timeoutMs, look, { signal });
      const drops = policy !== undefined && policy !== "noeviction";
      return { healthy: true, detail: drops ? `answering; may drop revocations (${policy})` : "answering" };
    } catch (error) {
      return { healthy: false, detail: failureDetail(error) };
    }
  }
  return { name, critical: false, check };
}

/** Returns why a check failed. Omits the client's messages, which may contain an address. */
function failureDetail(error: unknown): string {
  if (error instanceof DeadlineError) return `not answering (no answer within ${error.ms} ms)`;
  const { code, reason } = (error ?? {}) as { readonly code?: unknown; readonly reason?: unknown };
  const word = [replyWord(error), reason, code].find(
    (each): each is string => typeof each === "string" && /^[A-Za-z][A-Za-z0-9_]{1,40}$/.test(each),
  );
  return word === undefined ? "not answering" : `not answering (${word})`;
}
