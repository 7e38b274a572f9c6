import type { ReadinessCheck } from "@svc/context";
import { func, resolveOptions, withDefault } from "@svc/options";
import { type Database, databaseKind, qualified, type Queryable, queryWithin, type Row } from "@svc/sql";
import type { EventEnvelope } from "../envelope.ts";
import { refused } from "../errors.ts";
import { type Migration, tableName, timeoutKinds, transactionOf, type Within } from "../query.ts";
import { readEnvelope } from "../read-envelope.ts";
import { isText } from "../text.ts";
import { createBell, type Bell } from "./bell.ts";
import { createOutboxCheck } from "./readiness.ts";
import { ensureOutbox, outboxMigrations } from "./schema.ts";
import { addSql, deadSql, retrySql, statsSql } from "./sql.ts";

/** The table where no other one is named (OUT-4). */
export const DEFAULT_OUTBOX = "svc_outbox";

/** What {@link createOutbox} takes. */
export interface OutboxOptions {
  /** Where the table is, as for a job table: the same database. It stays the caller's to close. Required. */
  readonly db: Database;
  /** The table, by name (at most 48 bytes) or `schema.name`. Default: `svc_outbox`. */
  readonly name?: string | undefined;
  /**
   * Milliseconds that a call may take, its wait for a connection of the pool included, 10 to 600,000. It rejects with a
   * `SqlDeadlineError` then, and what was sent may still take effect. Default: 15,000.
   */
  readonly commandTimeoutMs?: number | undefined;
  /** Milliseconds that `ensureSchema()` gives each statement which makes something, 10 to 86,400,000. Default: 600,000. */
  readonly maintenanceTimeoutMs?: number | undefined;
  /** A clock that never goes back, in milliseconds. Default: `performance.now`. */
  readonly now?: (() => number) | undefined;
}

/** An event and where it goes. */
export interface OutboxEntry {
  readonly topic: string;
  readonly event: EventEnvelope;
}

/** How many events there are of each state. */
export interface OutboxStats {
  readonly pending: number;
  readonly published: number;
  readonly dead: number;
}

/** An event that is not tried again. */
export interface DeadEvent {
  readonly id: string;
  readonly topic: string;
  /** The envelope, or what somebody else has written in its place. */
  readonly payload: unknown;
  readonly attempts: number;
  readonly lastError: string | undefined;
  readonly createdAt: Date;
}

/**
 * Events that are to be sent, in a table beside the data that they are about. All clocks are the server's; every call is
 * one statement, and a `SqlDeadlineError` when it is not answered within `commandTimeoutMs`. Errors of the server and of the driver are passed on as they are.
 */
export interface Outbox {
  readonly name: string;
  /**
   * Writes up to 1,000 events down (OUT-1), in their order. Answers how many were new: an id is written once (EVT-4).
   *
   * @throws EventError `ERR_SVC_EVENT_ARGUMENT` for an entry that is none, before anything is sent
   */
  add(entries: readonly OutboxEntry[], options?: Within): Promise<number>;
  /** Dead events, those written last first. `limit` from 1 to 10,000; default 100. */
  dead(limit?: number): Promise<DeadEvent[]>;
  /** Makes dead events pending with no attempts: those of the ids, or all. Answers the ids of those that were dead. */
  retryDead(ids: readonly string[] | "all", options?: Within): Promise<string[]>;
  /** Counts all events; reads the whole table. */
  stats(): Promise<OutboxStats>;
  /** Makes what is missing of the table. @throws SchemaError for a table that is another one */
  ensureSchema(): Promise<"present" | "created">;
  /** The same for a migration tool. */
  migrations(): readonly Migration[];
  /**
   * The check `outbox`, never critical: degraded when an event is dead or failing, which it quotes, or when one has
   * waited for more than 300 s. Always the same object.
   */
  readiness(): ReadinessCheck;
}

/** What a relay needs to know of an outbox. */
export interface OutboxAccess {
  readonly db: Database;
  /** The table, quoted. */
  readonly sql: string;
  /** Rung when something was written here. */
  readonly bell: Bell;
}

const MAX_ENTRIES = 1000;
const MAX_TOPIC = 500;
const MAX_ROWS = 10_000;
// A date goes no further.
const FAR_MS = 8.64e15;
const accesses = new WeakMap<object, OutboxAccess>();

/** Undefined for what {@link createOutbox} has not made. */
export function accessOf(outbox: object): OutboxAccess | undefined {
  return accesses.get(outbox);
}

interface DeadRow extends Record<string, unknown> {
  readonly id: string;
  readonly destination: string;
  readonly payload: unknown;
  readonly attempts: number;
  readonly last_error: string | null;
  readonly created_ms: number;
}

/**
 * Makes the client of an outbox. Nothing is sent before the first call.
 *
 * @throws ConfigurationError
 */
export function createOutbox(given: OutboxOptions): Outbox {
  const { db, name, now, ...timeouts } = resolveOptions("createOutbox()", given, {
    db: databaseKind,
    name: withDefault(tableName, DEFAULT_OUTBOX),
    ...timeoutKinds,
    now: withDefault(func<() => number>(), () => performance.now()),
  });
  const sql = qualified(name);
  const bell = createBell();
  const send = async <R extends Row>(
    operation: string,
    text: string,
    values: unknown[],
    tx?: Queryable,
  ): Promise<R[]> => {
    const deadline = { operation: `${operation} of ${name}`, timeoutMs: timeouts.commandTimeoutMs };
    return (await queryWithin<R>(tx ?? db, deadline, text, values)).rows;
  };
  const readiness = createOutboxCheck((text) => send("readiness()", text, []), sql, now);

  const outbox: Outbox = {
    name,
    async add(entries, options) {
      const tx = transactionOf(options);
      if (!Array.isArray(entries) || entries.length > MAX_ENTRIES) {
        throw refused(`entries must be a list of at most ${MAX_ENTRIES}`);
      }
      for (const [index, entry] of entries.entries()) check(entry, index);
      if (entries.length === 0) return 0;
      const { text, values } = addSql(sql, entries);
      const added = (await send("add()", text, values, tx)).length;
      if (added > 0) bell.ring({ later: tx !== undefined });
      return added;
    },
    async dead(limit = 100) {
      if (!Number.isInteger(limit) || limit < 1 || limit > MAX_ROWS) {
        throw refused(`limit must be a whole number from 1 to ${MAX_ROWS}`);
      }
      return (await send<DeadRow>("dead()", deadSql(sql), [limit])).map(deadEventOf);
    },
    async retryDead(ids, options) {
      const tx = transactionOf(options);
      if (ids !== "all" && !(Array.isArray(ids) && ids.length <= MAX_ROWS && ids.every((id) => isText(id)))) {
        throw refused(`ids must be "all" or a list of at most ${MAX_ROWS} ids`);
      }
      const values = [ids === "all" ? null : ids];
      const rows = await send<{ id: string }>("retryDead()", retrySql(sql), values, tx);
      if (rows.length > 0) bell.ring({ later: tx !== undefined });
      return rows.map(({ id }) => id);
    },
    async stats() {
      const [row] = await send<{ pending: number; published: number; dead: number }>(
        "stats()",
        statsSql(sql),
        [],
      );
      return { pending: row?.pending ?? 0, published: row?.published ?? 0, dead: row?.dead ?? 0 };
    },
    ensureSchema: () => ensureOutbox(db, name, timeouts),
    migrations: () => outboxMigrations(name),
    readiness: () => readiness,
  };
  accesses.set(outbox, { db, sql, bell });
  return outbox;
}

/** @throws EventError `ERR_SVC_EVENT_ARGUMENT` */
function check(entry: OutboxEntry, index: number): void {
  const { topic, event } = Object(entry) as Partial<OutboxEntry>;
  if (!isText(topic, MAX_TOPIC)) {
    throw refused(`the topic of entry ${index} must be a text of 1 to ${MAX_TOPIC} characters`);
  }
  try {
    readEnvelope(event);
  } catch (error) {
    throw refused(`entry ${index} has ${(error as Error).message}`, error);
  }
}

function deadEventOf(row: DeadRow): DeadEvent {
  return {
    id: row.id,
    topic: row.destination,
    payload: row.payload,
    attempts: row.attempts,
    lastError: row.last_error ?? undefined,
    createdAt: new Date(Math.min(Math.max(row.created_ms, -FAR_MS), FAR_MS)),
  };
}
