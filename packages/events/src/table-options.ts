import { defineOptions, kinds as k, type OptionsOf, type ResolvedOptions } from "@svc/options";
import {
  COMMAND_TIMEOUT_MS,
  commandTimeoutKind,
  databaseKind,
  MAINTENANCE_TIMEOUT_MS,
  maintenanceTimeoutKind,
  tableNameKind,
} from "@svc/sql";

/** Default name of an outbox table (OUT-4). */
export const DEFAULT_OUTBOX = "svc_outbox";
/** Default name of an inbox table (OUT-3). */
export const DEFAULT_INBOX = "svc_inbox";

// This limit leaves room for the suffixes of the index names.
const tableName = tableNameKind(48);

const timeouts = {
  /**
   * Milliseconds for one call, including the wait for a pooled connection, 10 to 600,000. After that time the call
   * rejects with a `SqlDeadlineError`; a statement already sent may still take effect. Default: 15,000.
   */
  commandTimeoutMs: { kind: k.withDefault(commandTimeoutKind, COMMAND_TIMEOUT_MS) },
  /**
   * Milliseconds for each statement with which `ensureSchema()` creates something, 10 to 86,400,000. Default: 600,000.
   */
  maintenanceTimeoutMs: { kind: k.withDefault(maintenanceTimeoutKind, MAINTENANCE_TIMEOUT_MS) },
};

/** Deadlines for calls that use a table. */
export type TableTimeouts = ResolvedOptions<typeof timeouts>;

export const outboxOptions = defineOptions("createOutbox()", {
  /** The table's database, the same as the job table's. The caller closes it. Required. */
  db: { kind: databaseKind },
  /** The table, as name (at most 48 bytes) or `schema.name`. Default: `svc_outbox`. */
  name: { kind: k.withDefault(tableName, DEFAULT_OUTBOX) },
  ...timeouts,
  /** Returns a monotonic time in milliseconds. Default: `performance.now`. */
  now: { kind: k.monotonicClock },
});

/** Options of {@link createOutbox}. */
export type OutboxOptions = OptionsOf<typeof outboxOptions>;

export const inboxOptions = defineOptions("createInbox()", {
  /** The table, as name (at most 48 bytes) or `schema.name`. Default: `svc_inbox`. */
  name: { kind: k.withDefault(tableName, DEFAULT_INBOX) },
  ...timeouts,
});

/** Options of {@link createInbox}. */
export type InboxOptions = OptionsOf<typeof inboxOptions>;
