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
  /** Whether the result is not stored, because it may be outdated: `set` or `delete` changed the key during the fill. */
  stale: boolean;
  /** The command that stores the result. It is undefined until it is sent. */
  storing: Promise<unknown> | undefined;
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
    flightOf: () => Flight,
  ): Promise<string | undefined> {
    const found = await tolerated(read(key));
    if (found !== undefined) return found;
    const text = toJson(await withDeadline(fillTimeoutMs, fill), true);
    const flight = flightOf();
    if (text === undefined || flight.stale) return text;
    if (Buffer.byteLength(text) > maxValueBytes) emit("too_large");
    else await (flight.storing = tolerated(write(key, text, ttlSeconds)));
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
    const text = load(key, ttlSeconds, fill, () => flight).finally(land);
    // `set` and `delete` do not find a flight that is not tracked, so its result may be outdated.
    const isTracked = flights.size < FLIGHTS_AT_MOST;
    const flight: Flight = { text, stale: !isTracked, storing: undefined };
    if (isTracked) flights.set(key, flight);
    return text;
  }

  /**
   * Prevents a running fill of the key from storing its result. If the result is already being stored, returns that
   * command: a change must wait for it, because a cluster may execute the commands in another order.
   */
  function outdate(key: string): Promise<unknown> | undefined {
    const flight = flights.get(key);
    if (flight === undefined || flight.storing !== undefined) return flight?.storing;
    flight.stale = true;
    flights.delete(key);
    return undefined;
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
      const storing = outdate(name);
      if (storing !== undefined) await storing;
      await write(name, text, ttlSeconds);
      void outdate(name);
    },
    async delete(key) {
      const name = checkedKey("delete()", key);
      const storing = outdate(name);
      if (storing !== undefined) await storing;
      await redis.call("del", name);
      void outdate(name);
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
