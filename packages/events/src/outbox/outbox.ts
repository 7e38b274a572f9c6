import type { ReadinessCheck } from "@svc/context";
import {
  type Database,
  type Migration,
  qualified,
  type Queryable,
  queryWithin,
  type Row,
  transactionOf,
  type Within,
} from "@svc/sql";
import { bodyOf, dataJson } from "../envelope.ts";
import { refused } from "../errors.ts";
import { readEnvelope } from "../read-envelope.ts";
import { type OutboxOptions, outboxOptions } from "../table-options.ts";
import { isText } from "../text.ts";
import { createWakeup, type Wakeup } from "./wakeup.ts";
import { createOutboxCheck } from "./readiness.ts";
import { ensureOutbox, outboxMigrations } from "./schema.ts";
import { addSql, deadSql, type OutboxEntry, retrySql, statsSql, type WrittenEntry } from "./sql.ts";

/** The number of events in each state. */
export interface OutboxStats {
  readonly pending: number;
  readonly published: number;
  readonly dead: number;
}

/** An event that exhausted its attempts. */
export interface DeadEvent {
  readonly id: string;
  readonly topic: string;
  /** The envelope, or any other value that was written instead. */
  readonly payload: unknown;
  readonly attempts: number;
  readonly lastError: string | undefined;
  readonly createdAt: Date;
}

/**
 * Stores events to be sent, in a table of the application's database. All times come from the server. Every call sends
 * one statement, and rejects with a `SqlDeadlineError` after `commandTimeoutMs`. Server and driver errors pass through
 * unchanged.
 */
export interface Outbox {
  readonly name: string;
  /**
   * Stores up to 1,000 events in order (OUT-1). Returns how many were new, because each id is stored once (EVT-4).
   *
   * @throws EventError `ERR_SVC_EVENT_ARGUMENT` for an invalid entry, before anything is sent
   */
  add(entries: readonly OutboxEntry[], options?: Within): Promise<number>;
  /** Returns dead events, newest first. `limit`: 1 to 10,000, default 100. */
  dead(limit?: number): Promise<DeadEvent[]>;
  /**
   * Makes dead events pending again with 0 attempts and without their error: those with the given ids, or all. Returns
   * the ids of the events that were dead.
   */
  retryDead(ids: readonly string[] | "all", options?: Within): Promise<string[]>;
  /** Counts the events in each state. Reads the whole table. */
  stats(): Promise<OutboxStats>;
  /**
   * Creates the table, or the parts of it that are missing.
   * @throws SchemaError for a table with other columns
   */
  ensureSchema(): Promise<"present" | "created">;
  /** Returns the statements of `ensureSchema()` for a migration tool. */
  migrations(): readonly Migration[];
  /**
   * Returns the check `outbox`, which is never critical. It is degraded while an event is dead or failing (it then shows
   * the error), or when an event has waited for more than 300 s. Always returns the same object.
   */
  readiness(): ReadinessCheck;
}

/** The internals that a relay needs from an outbox. */
export interface OutboxAccess {
  readonly db: Database;
  /** The quoted table name. */
  readonly sql: string;
  /** Notifies relays after writes through this outbox. */
  readonly wakeup: Wakeup;
  /** Stores events that are already checked and serialized, like `add()`. */
  write(entries: readonly WrittenEntry[], tx: Queryable | undefined): Promise<number>;
}

const MAX_ENTRIES = 1000;
const MAX_TOPIC = 500;
const MAX_ROWS = 10_000;
// The latest time that a JavaScript Date can represent.
const FAR_MS = 8.64e15;
const accesses = new WeakMap<object, OutboxAccess>();

/** Returns an outbox's internals; undefined for an object not created by {@link createOutbox}. */
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
 * Creates a client for an outbox. Sends nothing before the first call.
 *
 * @throws ConfigurationError
 */
export function createOutbox(given: OutboxOptions): Outbox {
  const { db, name, now, ...timeouts } = outboxOptions.resolve(given);
  const sql = qualified(name);
  const wakeup = createWakeup();
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

  async function write(entries: readonly WrittenEntry[], tx: Queryable | undefined): Promise<number> {
    if (entries.length === 0) return 0;
    const { text, values } = addSql(sql, entries);
    const added = (await send("add()", text, values, tx)).length;
    if (added > 0) wakeup.notify({ later: tx !== undefined });
    return added;
  }

  const outbox: Outbox = {
    name,
    async add(entries, options) {
      const tx = transactionOf(options, refused);
      if (!Array.isArray(entries) || entries.length > MAX_ENTRIES) {
        throw refused(`entries must be a list of at most ${MAX_ENTRIES} entries`);
      }
      // Unlike `map()`, this also rejects the holes of a list.
      return write(Array.from(entries, writtenEntry), tx);
    },
    async dead(limit = 100) {
      if (!Number.isInteger(limit) || limit < 1 || limit > MAX_ROWS) {
        throw refused(`limit must be a whole number from 1 to ${MAX_ROWS}`);
      }
      return (await send<DeadRow>("dead()", deadSql(sql), [limit])).map(deadEventOf);
    },
    async retryDead(ids, options) {
      const tx = transactionOf(options, refused);
      if (ids !== "all" && !(Array.isArray(ids) && ids.length <= MAX_ROWS && ids.every((id) => isText(id)))) {
        throw refused(`ids must be "all" or a list of at most ${MAX_ROWS} ids`);
      }
      const values = [ids === "all" ? null : ids];
      const rows = await send<{ id: string }>("retryDead()", retrySql(sql), values, tx);
      if (rows.length > 0) wakeup.notify({ later: tx !== undefined });
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
  accesses.set(outbox, { db, sql, wakeup, write });
  return outbox;
}

/** @throws EventError `ERR_SVC_EVENT_ARGUMENT` */
function writtenEntry(entry: OutboxEntry, index: number): WrittenEntry {
  const { topic, event } = Object(entry) as Partial<OutboxEntry>;
  if (!isText(topic, MAX_TOPIC)) {
    throw refused(`the topic of entry ${index} must be a string of 1 to ${MAX_TOPIC} characters`);
  }
  try {
    const read = readEnvelope(event);
    return { topic, event: read, body: bodyOf(read, dataJson(read.data)) };
  } catch (error) {
    throw refused(`entry ${index}: ${(error as Error).message}`, error);
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
