import { createHash } from "node:crypto";
import { firstWord } from "./errors.ts";

/** A Lua script and the SHA-1 digest by which Redis caches it. */
export interface Script {
  readonly source: string;
  readonly sha1: string;
}

/** The methods that {@link runScript} calls. ioredis, its `Cluster`, `@svc/redis` and `@svc/cache` provide them. */
export interface ScriptRunner {
  eval(script: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
  evalsha(sha1: string, keyCount: number, ...keysAndArguments: string[]): Promise<unknown>;
}

/** Returns a script with its digest. */
export function script(source: string): Script {
  return { source, sha1: createHash("sha1").update(source).digest("hex") };
}

/**
 * Runs a script by its digest, or by its source if Redis does not know it.
 *
 * @returns the script's reply
 * @throws the client's error
 */
export async function runScript(
  redis: ScriptRunner,
  { sha1, source }: Script,
  keys: readonly string[],
  args: readonly (string | number)[],
): Promise<unknown> {
  const texts = [...keys, ...args.map(String)];
  try {
    return await redis.evalsha(sha1, keys.length, ...texts);
  } catch (error) {
    if (replyWord(error) !== "NOSCRIPT") throw error;
    return redis.eval(source, keys.length, ...texts);
  }
}

/**
 * Returns the first word of a Redis error reply, such as `NOSCRIPT`, from an error of ioredis, `@svc/redis` or `@svc/cache`;
 * undefined if Redis did not reply.
 */
export function replyWord(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  const { reply } = error as { readonly reply?: unknown };
  if (typeof reply === "string") return reply;
  if (error.name !== "ReplyError") return undefined;
  // Redis 6 wraps an error that is raised inside a script.
  const inner = /@user_script:\s*\d+: -?([A-Z]{2,})\b/.exec(error.message)?.[1];
  return inner ?? firstWord(error.message);
}

/** Returns whether Redis may have executed the command despite the error. */
export function isAmbiguous(error: unknown): boolean {
  if (!(error instanceof Error) || error.name === "ReplyError") return false;
  // Errors of @svc/redis and @svc/cache have a member `ambiguous`.
  const { ambiguous, reply } = error as { readonly ambiguous?: unknown; readonly reply?: unknown };
  if (typeof ambiguous === "boolean") return ambiguous;
  // ioredis reports a command that it never sent with this message.
  return typeof reply !== "string" && !error.message.startsWith("Stream isn't writeable");
}
