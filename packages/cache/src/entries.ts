import { createHash } from "node:crypto";
import { ConfigurationError } from "@svc/options";
import type { GuardedRedis } from "@svc/redis";
import { withDeadline } from "@svc/resilience";
import { CacheCommandError, CacheUnavailableError, CacheValueError } from "./errors.ts";
import type { CacheEvent } from "./options.ts";

/** Reads and writes JSON values in Redis by key. */
export interface Entries {
  /**
   * Returns the value stored under a key; undefined if nothing is stored, or if the stored value is not a string, is not
   * JSON or is too long.
   * @throws CacheUnavailableError
   */
  get(key: string): Promise<unknown>;
  /**
   * Stores a value for `ttlSeconds`.
   * @throws CacheValueError if the value is not JSON or is too long; CacheUnavailableError
   */
  set(key: string, value: unknown, ttlSeconds: number): Promise<void>;
  /** @throws CacheUnavailableError */
  delete(key: string): Promise<void>;
  /**
   * Returns the value stored under a key. If nothing is stored, calls `fill` and stores its result for `ttlSeconds`.
   * Concurrent callers in this process that request the same key share the lookup and its result. Every caller gets its
   * own copy, parsed from JSON. While Redis is unavailable, `fill` supplies the value and nothing is stored.
   *
   * `undefined` and values longer than `maxValueBytes` are returned but not stored.
   * @throws the error thrown by `fill`, to all waiting callers; DeadlineError after `fillTimeoutMs`; CacheValueError if
   *   the result is not JSON; ConfigurationError for an invalid argument
   */
  getOrSet<T>(key: string, ttlSeconds: number, fill: (signal: AbortSignal) => T | Promise<T>): Promise<T>;
}

interface Flight {
  readonly text: Promise<string | undefined>;
  /** Whether `set` or `delete` changed the key during this fill, so that its result may be outdated. */
  stale: boolean;
}

const LONGEST_KEY = 512;
const LONGEST_TTL_SECONDS = 10 * 366 * 86_400;
const FLIGHTS_AT_MOST = 10_000;

export function createEntries(
  redis: GuardedRedis,
  emit: (event: CacheEvent) => void,
  { maxValueBytes, fillTimeoutMs }: { readonly maxValueBytes: number; readonly fillTimeoutMs: number },
): Entries {
  const flights = new Map<string, Flight>();

  async function read(key: string): Promise<string | undefined> {
    // Read at most one byte more than the limit, to recognize a longer value. A missing key reads as an empty string.
    const text = await redis.call("getrange", key, 0, maxValueBytes);
    if (typeof text !== "string" || text === "") {
      emit("miss");
      return undefined;
    }
    if (Buffer.byteLength(text) > maxValueBytes) {
      emit("too_large");
      return undefined;
    }
    if (!isJson(text)) {
      emit("error");
      return undefined;
    }
    emit("hit");
    return text;
  }

  async function write(key: string, text: string, ttlSeconds: number): Promise<void> {
    await redis.call("set", key, text, "PX", Math.max(1, Math.round(ttlSeconds * 1000)));
  }

  // Returns undefined if Redis is unavailable or the key has another type, so that `fill` supplies the value.
  async function tolerated<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      if (error instanceof CacheUnavailableError || error instanceof CacheCommandError) return undefined;
      throw error;
    }
  }

  async function load(
    key: string,
    ttlSeconds: number,
    fill: (signal: AbortSignal) => unknown,
    isStale: () => boolean,
  ): Promise<string | undefined> {
    const found = await tolerated(read(key));
    if (found !== undefined) return found;
    const text = toJson(await withDeadline(fillTimeoutMs, fill), true);
    if (text === undefined || isStale()) return text;
    if (Buffer.byteLength(text) > maxValueBytes) emit("too_large");
    else await tolerated(write(key, text, ttlSeconds));
    // If the key was set or deleted during the write, remove the value, which may be outdated.
    if (isStale()) await tolerated(redis.call("del", key));
    return text;
  }

  function fly(
    key: string,
    ttlSeconds: number,
    fill: (signal: AbortSignal) => unknown,
  ): Promise<string | undefined> {
    const current = flights.get(key);
    if (current !== undefined) {
      emit("suppressed");
      return current.text;
    }
    const land = (): void => {
      if (flights.get(key) === flight) flights.delete(key);
    };
    const text = load(key, ttlSeconds, fill, () => flight.stale).finally(land);
    const flight: Flight = { text, stale: false };
    if (flights.size < FLIGHTS_AT_MOST) flights.set(key, flight);
    return text;
  }

  function outdate(key: string): void {
    const flight = flights.get(key);
    if (flight === undefined) return;
    flight.stale = true;
    flights.delete(key);
  }

  return {
    async get(key) {
      try {
        return parsed(await read(checkedKey("get()", key)));
      } catch (error) {
        if (error instanceof CacheCommandError) return undefined;
        throw error;
      }
    },
    async set(key, value, ttlSeconds) {
      const name = checkedKey("set()", key);
      checkTtl("set()", ttlSeconds);
      const text = toJson(value, false) ?? "";
      if (Buffer.byteLength(text) > maxValueBytes) {
        emit("too_large");
        throw new CacheValueError(`the value has more than ${maxValueBytes} bytes as JSON`);
      }
      outdate(name);
      await write(name, text, ttlSeconds);
      outdate(name);
    },
    async delete(key) {
      const name = checkedKey("delete()", key);
      outdate(name);
      await redis.call("del", name);
      outdate(name);
    },
    async getOrSet<T>(key: string, ttlSeconds: number, fill: (signal: AbortSignal) => T | Promise<T>) {
      const name = checkedKey("getOrSet()", key);
      checkTtl("getOrSet()", ttlSeconds);
      checkFiller(fill);
      return parsed(await fly(name, ttlSeconds, fill)) as T;
    },
  };
}

function checkedKey(subject: string, key: unknown): string {
  if (typeof key !== "string" || key === "") {
    throw new ConfigurationError(subject, [{ key: "key", message: "must be a non-empty string" }]);
  }
  // UTF-8 encodes every unpaired surrogate as the same character, so hash the UTF-16 code units.
  if (!key.isWellFormed()) return `utf16:${digest(Buffer.from(key, "utf16le"))}`;
  return key.length <= LONGEST_KEY ? key : `sha256:${digest(key)}`;
}

function digest(key: string | Buffer): string {
  return createHash("sha256").update(key).digest("base64url");
}

function checkFiller(fill: unknown): void {
  if (typeof fill === "function") return;
  throw new ConfigurationError("getOrSet()", [{ key: "fill", message: "must be a function" }]);
}

function checkTtl(subject: string, ttlSeconds: unknown): void {
  if (typeof ttlSeconds === "number" && ttlSeconds > 0 && ttlSeconds <= LONGEST_TTL_SECONDS) return;
  throw new ConfigurationError(subject, [
    { key: "ttlSeconds", message: `must be a number above 0 and at most ${LONGEST_TTL_SECONDS}` },
  ]);
}

function parsed(text: string | undefined): unknown {
  return text === undefined ? undefined : JSON.parse(text);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function toJson(value: unknown, mayBeUndefined: boolean): string | undefined {
  if (value === undefined && mayBeUndefined) return undefined;
  let text: string | undefined;
  try {
    text = JSON.stringify(value) as string | undefined;
  } catch {
    text = undefined;
  }
  if (text === undefined) throw new CacheValueError("the value cannot be serialized as JSON");
  return text;
}
