import { AsyncResource } from "node:async_hooks";
import type { PooledConnection } from "@svc/sql";

/** A `pg` pool, or an object that has one, such as the `Database` of `@svc/database`. */
export type TracedPool = PgPool | { readonly pool: PgPool };

/** The members of a `pg` pool that the tracing uses. */
export interface PgPool {
  readonly totalCount: number;
  readonly connect: () => Promise<PooledConnection>;
  on(event: "acquire" | "remove", listener: (client: PgClient) => void): unknown;
  on(event: "release", listener: (error: unknown, client: PgClient) => void): unknown;
}

export type Method = (this: unknown, ...args: unknown[]) => unknown;

export interface PgClient {
  readonly database?: unknown;
  readonly query: Method;
}

/**
 * Returns the pool that a caller passed to `traceQueries()`.
 *
 * @throws TypeError for any other value, which the message does not show
 */
export function poolOf(target: unknown): PgPool {
  const pool = poolIn(target);
  if (pool !== undefined) return pool;
  throw new TypeError(`traceQueries() needs a pg Pool or an object with a pool; got ${kindOf(target)}`);
}

/** Returns a value that is a `pg` pool, or the `pg` pool in its member `pool`; undefined for any other value. */
export function poolIn(value: unknown): PgPool | undefined {
  if (isPgPool(value)) return value;
  const { pool } = Object(value) as { readonly pool?: unknown };
  return isPgPool(pool) ? pool : undefined;
}

function isPgPool(value: unknown): value is PgPool {
  const { connect, on, totalCount } = Object(value) as Partial<Record<keyof PgPool, unknown>>;
  return typeof connect === "function" && typeof on === "function" && typeof totalCount === "number";
}

function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value !== "object") return `a ${typeof value}`;
  const { name } = Object(value.constructor) as { readonly name?: unknown };
  return typeof name === "string" ? `an object of the class ${name}` : "an object";
}

/**
 * Makes a pool call each callback in the context of its `connect()`. Otherwise a `pool.query()` that waits for a
 * connection runs in the context, and thus in the trace, of the request that releases one.
 */
export function bindWaiting(pool: PgPool): void {
  const connect = pool.connect as Method;
  (pool as { connect: unknown }).connect = function (this: unknown, ...args: unknown[]): unknown {
    return connect.apply(
      this,
      args.map((each) => (typeof each === "function" ? AsyncResource.bind(each as Method) : each)),
    );
  };
}
