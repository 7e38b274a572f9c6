import { calmLogger, type ReadinessCheck } from "@svc/context";
import { DeadlineError, singleFlight } from "@svc/resilience";
import { safeErrorText, TransactionError } from "@svc/sql";
import { checkMoment } from "../durations.ts";
import { checkId, checkIds } from "../ids.ts";
import type { RevocableToken, Rotation, RotationResult, TokenStore } from "../token-store.ts";
import { createConnection } from "./connection.ts";
import { type PostgresTokenStoreOptions, resolvePostgresOptions } from "./options.ts";
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
 * A token store in a table of PostgreSQL. Whatever the server or the driver says to a call is its rejection; so are a
 * `DeadlineError`, a `BreakerOpenError`, a `TokenStoreError` for a duration that is none, and a `TransactionError` on a
 * connection with a transaction open.
 */
export interface PostgresTokenStore extends TokenStore, AsyncDisposable {
  isRevoked(token: RevocableToken): Promise<boolean>;
  revoke(jti: string, ttlSeconds: number): Promise<void>;
  revokeFamily(fam: string, ttlSeconds: number): Promise<void>;
  revokeSubject(sub: string, notBefore: number, ttlSeconds: number): Promise<void>;
  signInTime(sub: string, nowSeconds: number): Promise<number>;
  revokeSubjectNow(sub: string, nowSeconds: number, ttlSeconds: number): Promise<number>;
  rotate(rotation: Rotation): Promise<RotationResult>;
  /**
   * Makes the table and its index when they are missing. Needs the right to create them only then.
   *
   * @throws SchemaError for a table that is another one; and what the server says
   */
  ensureSchema(): Promise<"present" | "created">;
  /** Deletes all rows that are over, in batches, and answers how many there were. */
  sweep(): Promise<number>;
  /** Always the same object. */
  readiness(): ReadinessCheck;
  /** Waits for a deletion that is under way, and begins no other one. Does not close the database. Never rejects. */
  stop(): Promise<void>;
}

const NOT_LAST = "the driver does not answer the last of several statements";
const RESULTS: ReadonlySet<unknown> = new Set<RotationResult>(["rotated", "raced", "replayed"]);

/**
 * Keeps revocations and used refresh tokens in PostgreSQL (REF-4 to REF-8, REV-1 to REV-3). Every call is one round trip and
 * one transaction; all clocks are the server's. A rotation that reaches a server which hung only after `timeoutMs` has no
 * effect there (REF-17). Nothing is sent before the first call.
 *
 * @throws ConfigurationError
 */
export function createPostgresTokenStore(given: PostgresTokenStoreOptions): PostgresTokenStore {
  const resolved = resolvePostgresOptions(given);
  // Lines are written between a statement and its caller, who must not lose its answer.
  const logger = calmLogger(resolved.logger);
  const options = { ...resolved, logger };
  const { db, table, quotedTable, name, timeoutMs, sweepBatch, now } = options;
  const connection = createConnection(options);
  const check = createCheck(options, connection);
  const sweepEveryMs = options.sweepEverySeconds * 1000;
  // Replicas that start together need not sweep together.
  let sweepDue = sweepEveryMs > 0 ? now() + sweepEveryMs * Math.random() : Infinity;
  let stopped = false;
  // How far the clock of the server is ahead of ours; a guess until it has answered.
  let aheadMs = Date.now() - now();
  let sweeping: Promise<unknown> = Promise.resolve();

  const sweep = singleFlight(async (): Promise<number> => {
    for (let total = 0; ;) {
      const deleted = Number((await connection.write(sweepSql(quotedTable, sweepBatch)))["deleted"]);
      total += deleted;
      // Fewer: the rest is in the hands of another replica.
      if (deleted < sweepBatch || stopped) return total;
    }
  });

  async function write(sql: string): Promise<Readonly<Record<string, unknown>>> {
    const row = await connection.write(sql);
    if (row["nested"] === true) {
      throw new TransactionError(
        "the connection of a token store has a transaction open, which may undo what was revoked: give it a pool",
      );
    }
    if (!stopped && now() >= sweepDue) {
      sweepDue = now() + sweepEveryMs;
      sweeping = sweep().catch((error: unknown) => {
        const fields = { store: name, reason: safeErrorText(error) };
        logger?.warn(fields, "rows of the token store that are over could not be deleted");
      });
    }
    return row;
  }

  /** Writes what has no effect once the caller no longer waits; answers its result. */
  async function writeWhileDue(statement: (latestMs: number) => string): Promise<unknown> {
    const until = now() + timeoutMs;
    for (;;) {
      const { result, server_ms: serverMs } = await write(statement(until + aheadMs));
      if (result === undefined) throw new TypeError(NOT_LAST);
      const at = now();
      aheadMs = Number(serverMs) - at;
      if (result !== "late") return result;
      // An answer in time says that not the statement was late but our idea of the server's clock was wrong.
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
      await write(revokeSql(quotedTable, jti, ttlSeconds));
    },
    async revokeFamily(fam, ttlSeconds) {
      checkId("fam", fam);
      await write(revokeFamilySql(quotedTable, fam, ttlSeconds));
    },
    async revokeSubject(sub, notBefore, ttlSeconds) {
      checkId("sub", sub);
      await write(revokeSubjectSql(quotedTable, sub, notBefore, ttlSeconds));
    },
    async signInTime(sub) {
      checkId("sub", sub);
      const { moment } = await connection.read(signInTimeSql(quotedTable, sub));
      if (moment === undefined) throw new TypeError(NOT_LAST);
      return Number(moment);
    },
    async revokeSubjectNow(sub, _nowSeconds, ttlSeconds) {
      checkId("sub", sub);
      return Number(
        await writeWhileDue((latestMs) => revokeSubjectNowSql(quotedTable, sub, ttlSeconds, latestMs)),
      );
    },
    shared: true,

    async rotate(rotation) {
      checkIds(rotation);
      checkMoment("signedInAt", rotation.signedInAt);
      const result = await writeWhileDue((latestMs) => rotateSql(quotedTable, rotation, latestMs));
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
