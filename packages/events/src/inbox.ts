import { integer, resolveOptions, withDefault } from "@svc/options";
import {
  type Columns,
  type Database,
  type Deadline,
  ensureSchema,
  isTransaction,
  type Migration,
  migrationName,
  qualified,
  type Queryable,
  queryWithin,
} from "@svc/sql";
import { refused } from "./errors.ts";
import { type InboxOptions, inboxOptions, type TableTimeouts } from "./table-options.ts";
import { isText } from "./text.ts";

/** The result of `once()`: the value of `fn`, or `done: false` if the message was already handled. */
export type Once<T> = { readonly done: true; readonly value: T } | { readonly done: false };

/** Records which messages a consumer has handled, in a table of the database whose data the consumer changes. */
export interface Inbox {
  readonly name: string;
  /**
   * Runs `fn` unless this consumer has already handled the message, and records the message in the same transaction
   * (OUT-2): both commit or neither does. A concurrent call for the same message waits until the first call ends. When
   * `fn` throws, the record is removed.
   *
   * @param tx the caller's transaction
   * @param consumer the consumer's name, 1 to 128 characters; consumers do not share records
   * @param messageId the event's `id`, 1 to 255 characters
   * @throws EventError `ERR_SVC_EVENT_ARGUMENT`, including for a pool instead of a transaction; errors thrown by `fn`
   */
  once<T>(tx: Queryable, consumer: string, messageId: string, fn: () => T | Promise<T>): Promise<Once<T>>;
  /**
   * Creates the table, or the parts of it that are missing.
   * @throws SchemaError for a table with other columns
   */
  ensureSchema(db: Database): Promise<"present" | "created">;
  /** Returns the statements of `ensureSchema()` for a migration tool. */
  migrations(): readonly Migration[];
  /**
   * Deletes records older than `olderThanDays` (at least 1; default: 30) and returns their number. Keep records for
   * longer than the bus may redeliver a message.
   */
  prune(db: Database, options?: { readonly olderThanDays?: number | undefined }): Promise<number>;
}

const MAX_CONSUMER = 128;
const CHUNK = 10_000;
const TEXT = ["text", "varchar"];
// The columns that OUT-3 requires.
const COLUMNS: Columns = { consumer: TEXT, message_id: TEXT, processed_at: "timestamptz" };

/**
 * Creates an inbox client. Sends nothing before the first call.
 *
 * @throws ConfigurationError
 */
export function createInbox(given: InboxOptions = {}): Inbox {
  const { name, ...timeouts } = inboxOptions.resolve(given);
  const within = (operation: string): Deadline => ({
    operation: `${operation} of ${name}`,
    timeoutMs: timeouts.commandTimeoutMs,
  });
  const sql = qualified(name);
  const statement = `create table if not exists ${sql} (
  consumer text collate "C" not null,
  message_id text collate "C" not null,
  processed_at timestamptz not null default now(),
  primary key (consumer, message_id)
)`;

  return {
    name,
    async once(tx, consumer, messageId, fn) {
      if (!isText(consumer, MAX_CONSUMER))
        throw refused(`consumer must be a string of 1 to ${MAX_CONSUMER} characters`);
      if (!isText(messageId)) throw refused("messageId must be a string of 1 to 255 characters");
      if (!isTransaction(tx)) {
        throw refused(
          "once() needs a transaction; without one, a message whose work fails stays recorded as processed",
        );
      }
      const { rows } = await queryWithin(
        tx,
        within("once()"),
        `insert into ${sql} (consumer, message_id, processed_at) values ($1, $2, now())
        on conflict (consumer, message_id) do nothing returning message_id`,
        [consumer, messageId],
      );
      if (rows.length === 0) return { done: false };
      try {
        return { done: true, value: await fn() };
      } catch (error) {
        // Remove the record in case the caller catches the error and commits. A failed transaction rolls it back
        // anyway.
        const text = `delete from ${sql} where consumer = $1 and message_id = $2`;
        await queryWithin(tx, within("once()"), text, [consumer, messageId]).catch(() => undefined);
        throw error;
      }
    },
    ensureSchema: (db) => ensureInbox(db, name, statement, timeouts),
    migrations: () => [{ name: migrationName("0001", name), statements: [statement] }],
    async prune(db, options = {}) {
      const { olderThanDays } = resolveOptions("prune()", options, {
        olderThanDays: withDefault(integer({ min: 1, max: 36_600 }), 30),
      });
      let count = 0;
      for (;;) {
        const { rows } = await queryWithin(
          db,
          within("prune()"),
          `with old as (
            delete from ${sql} where ctid = any(array(
              select ctid from ${sql} where processed_at < now() - $1::int * interval '1 day' limit ${CHUNK}
            )) returning 1
          ) select count(*)::int as pruned from old`,
          [olderThanDays],
        );
        const pruned = Number(rows[0]?.["pruned"] ?? 0);
        count += pruned;
        if (pruned < CHUNK) return count;
      }
    },
  };
}

/** @throws SchemaError for a table with other columns, naming them */
function ensureInbox(
  db: Database,
  table: string,
  statement: string,
  timeouts: TableTimeouts,
): Promise<"present" | "created"> {
  const sql = qualified(table).replaceAll("'", "''");
  return ensureSchema(db, {
    name: `inbox/${table}`,
    tables: { [table]: COLUMNS },
    isPresent: `
select bool_or(index.indisunique and index.indpred is null and index.indnkeyatts = 2
  and (select array_agg(attname::text order by attname) from pg_catalog.pg_attribute
    where attrelid = index.indrelid and attnum = any(index.indkey[0:1])) = '{consumer,message_id}')
from pg_catalog.pg_index as index
where index.indrelid = to_regclass('${sql}') and index.indisvalid and index.indimmediate`,
    needs: [`${table} needs the primary key (consumer, message_id)`],
    statements: [statement],
    ...timeouts,
  });
}
