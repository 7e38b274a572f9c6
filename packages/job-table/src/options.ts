import {
  boolean,
  ConfigurationError,
  func,
  integer,
  namesOf,
  number,
  oneOf,
  optional,
  resolveOptions,
  string,
  withDefault,
} from "@svc/options";
import {
  COMMAND_TIMEOUT_MS,
  commandTimeoutKind,
  type Database,
  databaseKind,
  MAINTENANCE_TIMEOUT_MS,
  maintenanceTimeoutKind,
  qualified,
  tableNameKind,
} from "@svc/sql";
import type { LocalWorker } from "./local-worker.ts";
import { createPayloadCheck } from "./payload-check.ts";
import type { AnyTasks } from "./task-types.ts";
import { type Tasks, tasksKind } from "./tasks.ts";

/** The default table name (JOB-1). */
export const DEFAULT_TABLE = "svc_jobs";

/** Options of {@link createJobTable}. */
export interface JobTableOptions<Queued extends AnyTasks = AnyTasks, Received extends AnyTasks = Queued> {
  /**
   * The database: a `pg` pool or client, a transaction, a database from `@svc/database`, or any other database for
   * `@svc/sql`. The caller closes it. Required.
   */
  readonly db: Database;
  /** The table, as name (at most 48 bytes) or `schema.name`. Default: `svc_jobs`. */
  readonly name?: string | undefined;
  /** Seconds for which a claim leases a job (JOB-14), 1 to 86,400; cannot be extended. Default: 300. */
  readonly visibilityTimeoutSeconds?: number | undefined;
  /** Maximum size of a payload as JSON in bytes, with all numbers written without exponents, up to 64 MiB. Default: 1,048,576. */
  readonly maxPayloadBytes?: number | undefined;
  /** Whether to notify listening workers of queued jobs. Default: true. */
  readonly notify?: boolean | undefined;
  /**
   * Milliseconds between notifications from this process, 0 to 60,000; one that is due earlier is sent at the end of the
   * interval. Default: 10.
   */
  readonly notifyEveryMs?: number | undefined;
  /**
   * `exact`: `claim()` always keeps the order of `available_at`. `relaxed`: an earlier job from another process may
   * wait up to a second while an old snapshot slows claims down (JOB-25). Default: `exact`.
   */
  readonly claimOrder?: "exact" | "relaxed" | undefined;
  /**
   * Milliseconds for one call, including the wait for a pooled connection, 10 to 600,000. After that time the call
   * rejects with a `SqlDeadlineError`; a statement already sent may still take effect. Default: 15,000.
   */
  readonly commandTimeoutMs?: number | undefined;
  /**
   * Time limit for each statement of `ensureSchema()` that creates something, in milliseconds, 10 to 86,400,000.
   * Default: 600,000.
   */
  readonly maintenanceTimeoutMs?: number | undefined;
  /**
   * The result of `defineTasks()`: the types of the table's tasks, and the schemas that check their payloads. Default: none;
   * any task with any payload.
   */
  readonly tasks?: Tasks<Queued, Received> | undefined;
  /** Returns a monotonic time in milliseconds. Default: `performance.now`. */
  readonly now?: (() => number) | undefined;
}

const SUBJECT = "createJobTable()";
// This limit leaves room for the suffixes of the index names.
const tableName = tableNameKind(48);

/** The options with all defaults applied, the quoted table name, and this process's workers for the table. */
export type ResolvedOptions = Readonly<ReturnType<typeof resolveTableOptions>>;

/** @throws ConfigurationError */
export function resolveTableOptions(given: JobTableOptions) {
  const resolved = resolveOptions(SUBJECT, given, {
    db: databaseKind,
    name: withDefault(string(), DEFAULT_TABLE),
    visibilityTimeoutSeconds: withDefault(number({ min: 1, max: 86_400 }), 300),
    maxPayloadBytes: withDefault(integer({ min: 2, max: 64 * 2 ** 20 }), 2 ** 20),
    notify: withDefault(boolean(), true),
    notifyEveryMs: withDefault(integer({ min: 0, max: 60_000 }), 10),
    claimOrder: withDefault(oneOf("exact", "relaxed"), "exact"),
    commandTimeoutMs: withDefault(commandTimeoutKind, COMMAND_TIMEOUT_MS),
    maintenanceTimeoutMs: withDefault(maintenanceTimeoutKind, MAINTENANCE_TIMEOUT_MS),
    tasks: optional(tasksKind),
    now: withDefault(func<() => number>(), () => performance.now()),
  });
  if (!tableName.accepts(resolved.name)) {
    const { subject, of } = namesOf(given, SUBJECT);
    throw new ConfigurationError(subject, [{ key: of("name"), message: `must be ${tableName.expects}` }]);
  }
  return {
    ...resolved,
    quotedTable: qualified(resolved.name),
    payloadCheck: createPayloadCheck(resolved.tasks?.schemas),
    localWorkers: new Set<LocalWorker>(),
  };
}
