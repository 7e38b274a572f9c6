import { DeadlineError, safeLogger, singleFlight } from "@svc/resilience";
import { qualified, safeErrorText, TransactionError } from "@svc/sql";
import { checkId, checkMoment, checkRotation, timeToLiveMs } from "../arguments.ts";
import type { RotationResult } from "@svc/context";
import type { SharedTokenStore } from "../shared-token-store.ts";
import { createConnection } from "./connection.ts";
import { type PostgresTokenStoreOptions, postgresTokenStoreOptions } from "./options.ts";
import { createCheck } from "./readiness.ts";
import { ensureTable } from "./schema.ts";
import {
  isRevokedSql,
  revokeFamilySql,
  revokeSubjectNowSql,
  revokeSql,
  revokeSubjectSql,
  rotateSql,
  signInTimeSql,
  sweepSql,
} from "./statements.ts";

/**
 * A token store in a table of PostgreSQL. Its calls reject with the server's or the driver's error, with `DeadlineError`,
 * `BreakerOpenError`, `TokenStoreError` for an invalid argument, or `TransactionError` when the connection has a transaction
 * open.
 */
export interface PostgresTokenStore extends SharedTokenStore, AsyncDisposable {
  /**
   * Creates the table and its index if they are missing; only then needs the privilege to create them.
   *
   * @throws SchemaError when the existing table cannot serve as the store; server errors
   */
  ensureSchema(): Promise<"present" | "created">;
  /** Deletes all expired rows, in batches, and returns their number. */
  sweep(): Promise<number>;
  /** Waits for a running deletion and starts no more. Does not close the database. Never rejects. */
  stop(): Promise<void>;
}

const NOT_LAST = "the driver does not return the result of the last of several statements";
const RESULTS: ReadonlySet<unknown> = new Set<RotationResult>(["rotated", "raced", "replayed"]);

/**
 * Creates a store that keeps revocations and used refresh tokens in PostgreSQL (REF-4 to REF-8, REV-1 to REV-3). Every
 * call is one round trip and one transaction, and uses the server's clock. A rotation that the server starts after
 * `timeoutMs` has no effect (REF-17). The store sends nothing before the first call.
 *
 * @throws ConfigurationError for unknown or invalid options
 */
export function createPostgresTokenStore(given: PostgresTokenStoreOptions): PostgresTokenStore {
  const resolved = postgresTokenStoreOptions.resolve(given);
  // A logger that throws must not lose the result of a statement.
  const logger = safeLogger(resolved.logger);
  const options = { ...resolved, logger, quotedTable: qualified(resolved.table) };
  const { db, table, quotedTable, name, timeoutMs, sweepBatch, now } = options;
  const connection = createConnection(options);
  const check = createCheck(options, connection);
  const sweepEveryMs = options.sweepEverySeconds * 1000;
  // A random start keeps replicas that start together from sweeping at the same time.
  let sweepDue = sweepEveryMs > 0 ? now() + sweepEveryMs * Math.random() : Infinity;
  let stopped = false;
  // Milliseconds by which the server's clock is ahead of `now()`; a guess until the first response.
  let aheadMs = Date.now() - now();
  let sweeping: Promise<unknown> = Promise.resolve();

  const sweep = singleFlight(async (): Promise<number> => {
    for (let total = 0; ;) {
      const deleted = Number((await connection.write(sweepSql(quotedTable, sweepBatch)))["deleted"]);
      total += deleted;
      // An incomplete batch means that the remaining rows, if any, are locked by another replica.
      if (deleted < sweepBatch || stopped) return total;
    }
  });

  async function write(sql: string): Promise<Readonly<Record<string, unknown>>> {
    const row = await connection.write(sql);
    if (row["nested"] === true) {
      throw new TransactionError(
        "the connection of a token store is in a transaction, whose rollback would undo revocations: pass a pool",
      );
    }
    if (!stopped && now() >= sweepDue) {
      sweepDue = now() + sweepEveryMs;
      sweeping = sweep().catch((error: unknown) => {
        const fields = { store: name, reason: safeErrorText(error) };
        logger?.warn(fields, "expired rows of the token store could not be deleted");
      });
    }
    return row;
  }

  /** Runs a write that has no effect if the server starts it after the caller's deadline. Returns its result. */
  async function writeWhileDue(statement: (latestMs: number) => string): Promise<unknown> {
    const until = now() + timeoutMs;
    for (;;) {
      const { result, server_ms: serverMs } = await write(statement(until + aheadMs));
      if (result === undefined) throw new TypeError(NOT_LAST);
      const at = now();
      aheadMs = Number(serverMs) - at;
      if (result !== "late") return result;
      // A `late` before the deadline means that `aheadMs` was wrong, so repeat with the corrected value.
      if (at >= until) throw new DeadlineError(timeoutMs);
    }
  }

  const store: PostgresTokenStore = {
    async isRevoked(token) {
      const { revoked } = await connection.read(isRevokedSql(quotedTable, token));
      if (typeof revoked === "boolean") return revoked;
      throw new TypeError(NOT_LAST);
    },
    async revoke(jti, ttlSeconds) {
      checkId("jti", jti);
      await write(revokeSql(quotedTable, jti, timeToLiveMs(ttlSeconds)));
    },
    async revokeFamily(fam, ttlSeconds) {
      checkId("fam", fam);
      await write(revokeFamilySql(quotedTable, fam, timeToLiveMs(ttlSeconds)));
    },
    async revokeSubject(sub, notBefore, ttlSeconds) {
      checkId("sub", sub);
      checkMoment("notBefore", notBefore);
      await write(revokeSubjectSql(quotedTable, sub, notBefore, timeToLiveMs(ttlSeconds)));
    },
    async signInTime(sub) {
      checkId("sub", sub);
      const { moment } = await connection.read(signInTimeSql(quotedTable, sub));
      if (moment === undefined) throw new TypeError(NOT_LAST);
      return Number(moment);
    },
    async revokeSubjectNow(sub, _nowSeconds, ttlSeconds) {
      checkId("sub", sub);
      const ttlMs = timeToLiveMs(ttlSeconds);
      return Number(
        await writeWhileDue((latestMs) => revokeSubjectNowSql(quotedTable, sub, ttlMs, latestMs)),
      );
    },
    shared: true,

    async rotate(rotation) {
      const times = checkRotation(rotation);
      const result = await writeWhileDue((latestMs) => rotateSql(quotedTable, rotation, times, latestMs));
      if (RESULTS.has(result)) return result as RotationResult;
      throw new TypeError(NOT_LAST);
    },
    ensureSchema: () => ensureTable(db, table),
    sweep,
    readiness: () => check,
    async stop() {
      stopped = true;
      await sweeping;
    },
    [Symbol.asyncDispose]: () => store.stop(),
  };
  return store;
}
