import type { kinds } from "@svc/options";
import type { Pool } from "pg";

const METHODS = ["connect", "on", "removeListener"] as const;
const COUNTS = ["totalCount", "idleCount", "waitingCount"] as const;

/** A `pg` pool, or an object with the members that this package uses. */
export const poolKind: kinds.Kind<Pool> = {
  expects:
    "a pg pool (an object with connect(), on(), removeListener(), totalCount, idleCount, waitingCount and options.max)",
  accepts: (value): value is Pool => {
    const pool = Object(value) as Readonly<Record<string, unknown>>;
    const { max } = Object(pool["options"]) as { readonly max?: unknown };
    return (
      METHODS.every((name) => typeof pool[name] === "function") &&
      [...COUNTS.map((name) => pool[name]), max].every((count) => typeof count === "number")
    );
  },
};

/** Returns whether a pool lends no more connections. */
export function hasEnded(pool: Pool): boolean {
  return pool.ending || pool.ended;
}

/** Returns whether the connections of a pool cannot report whether a transaction is open. */
export function hasOldDriver(pool: Pool): boolean {
  const { Client } = pool as { readonly Client?: unknown };
  return typeof Client === "function" && !("getTransactionStatus" in Object(Client.prototype));
}
