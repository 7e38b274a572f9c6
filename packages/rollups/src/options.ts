import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import {
  COMMAND_TIMEOUT_MS,
  commandTimeoutKind,
  MAINTENANCE_TIMEOUT_MS,
  maintenanceTimeoutKind,
} from "@svc/sql";

/** Factory name in error messages. */
export const SUBJECT = "defineRollup()";
const MEASURE_TYPE = /^[a-z][a-z0-9]*(?: precision)?(?:\(\s*\d{1,4}\s*(?:,\s*\d{1,4}\s*)?\))?$/;

const membersOf = <T>(): k.Kind<Readonly<Record<string, T>>> => k.objectWith("an object");
/** The name of a rollup, a group or a measure. */
export const nameKind: k.Kind<string> = k.string({
  pattern: /^[a-z][a-z0-9_]{0,39}$/,
  expects: "up to 40 lower-case letters, digits and underscores, beginning with a letter",
});
const nullOr = <T>(kind: k.Kind<T>): k.Kind<T | null> => ({
  expects: `${kind.expects}, or null`,
  accepts: (value): value is T | null => value === null || kind.accepts(value),
});

export const sourceOptions = defineOptions(`${SUBJECT} source`, {
  /** Name of the table, or `schema.name`. Required. */
  table: { kind: k.string() },
  /** Tenant column; null if rows have no tenant, in which case every call passes `tenant: null`. Required. */
  tenantColumn: { kind: nullOr(k.string()) },
  /** Type of the tenant column: `text` (for `varchar` too), `uuid`, `integer` or `bigint`. Default: `text`. */
  tenantType: { kind: k.withDefault(k.oneOf("text", "uuid", "integer", "bigint"), "text") },
  /**
   * Table without row security that lists the tenants, in a column with the name of `tenantColumn`; `verifyNext()` reads it
   * where row security hides tenants. Default: none; it reads the tenants of the rows and the totals.
   */
  tenantTable: { kind: k.optional(k.string()) },
  /** Column of type `timestamptz` that determines the month of a row. Required. */
  timeColumn: { kind: k.string() },
  /**
   * SQL condition for the rows to count, in which the table is named `source`; never build it from a request. Default: all
   * rows.
   */
  where: { kind: k.optional(k.string()) },
});

/** The source table, whose rows the rollup adds up. */
export type RollupSource = OptionsOf<typeof sourceOptions>;

export function groupOptions(subject: string) {
  return defineOptions(`${SUBJECT} ${subject}`, {
    /** Column of the source. Required. */
    column: { kind: k.string() },
    /** `varchar(n)`, `smallint`, `integer`, `bigint`, `boolean` or `uuid`. Default: `varchar(64)`. */
    type: { kind: k.withDefault(k.string(), "varchar(64)") },
    /** Value to use for NULL. Default: none; NULL is a separate group (ROLL-6). */
    whenNull: { kind: k.optional(k.string({ allowEmpty: true })) },
    /**
     * How to treat a string of more than `n` characters: `refuse` throws and leaves the bucket unchanged, `cut` adds the row
     * to the group of the first `n` characters. Default: `refuse`.
     */
    tooLong: { kind: k.withDefault(k.oneOf("refuse", "cut"), "refuse") },
  });
}

/** A column to group totals by. */
export type RollupGroup = OptionsOf<ReturnType<typeof groupOptions>>;

export function measureOptions(subject: string) {
  return defineOptions(`${SUBJECT} ${subject}`, {
    /** SQL aggregate over rows of the table, named `source`; never build it from a request. Required. */
    sql: { kind: k.string({ pattern: /\S/, expects: "an aggregate such as sum(amount)" }) },
    /** Type of the result, for example `numeric(14, 2)`. A sum must not be `real` or `double precision`. Required. */
    type: { kind: k.string({ pattern: MEASURE_TYPE, expects: "a type such as numeric(14, 2)" }) },
    /** How to combine months. Default: derived from a single `count`, `sum`, `min` or `max`; otherwise required. */
    combine: { kind: k.optional(k.oneOf("sum", "min", "max")) },
    /** Set if months and groups cannot be combined, as with `count(distinct ...)` and averages. Default: false. */
    nonAdditive: { kind: k.withDefault(k.boolean(), false) },
  });
}

/** A measure, which an aggregate computes. */
export type RollupMeasure = OptionsOf<ReturnType<typeof measureOptions>>;

export const rollupOptions = defineOptions(SUBJECT, {
  /** Lower-case letters, digits and underscores, at most 40; its jobs have the task `rollup.refresh.<name>`. Required. */
  name: { kind: nameKind },
  /** Totals table, by name (at most 48 bytes) or `schema.name`. Default: the name of the rollup. */
  table: { kind: k.optional(k.string()) },
  /** The rows to add up. Required. */
  source: { kind: k.objectWith<RollupSource>("an object with table, tenantColumn and timeColumn") },
  /** Up to 8 columns to group by, keyed by their name in the totals table. Default: none. */
  groupBy: { kind: k.withDefault(membersOf<RollupGroup>(), {}) },
  /** 1 to 50 measures, keyed by their name in the totals table. Required. */
  measures: { kind: membersOf<RollupMeasure>() },
  /** Time zone that defines the months, for example `Europe/Berlin` (ROLL-4). Required. */
  timeZone: { kind: k.string() },
  /**
   * Setting from which row security reads the tenant; null if the policies work differently, in which case nothing is set or
   * checked. Default: `svc.tenant`.
   */
  tenantSetting: {
    kind: k.withDefault(
      nullOr(
        k.string({
          pattern: /^[a-z_]\w*(?:\.[a-z_]\w*)+$/i,
          expects: "names joined by dots, such as svc.tenant",
        }),
      ),
      "svc.tenant",
    ),
  },
  /**
   * Time limit for a statement, and for waiting for a pool connection, in milliseconds, 10 to 600,000. After that the call
   * rejects with a `SqlDeadlineError`; a statement that was sent may still take effect. Default: 15,000.
   */
  commandTimeoutMs: { kind: k.withDefault(commandTimeoutKind, COMMAND_TIMEOUT_MS) },
  /**
   * Time limit in milliseconds, 10 to 86,400,000, for each statement of `rebuild()`, `rebuildAll()` and `verify()`, and for
   * statements of `ensureSchema()` that create something. Default: 600,000.
   */
  maintenanceTimeoutMs: { kind: k.withDefault(maintenanceTimeoutKind, MAINTENANCE_TIMEOUT_MS) },
});

/** Options of {@link defineRollup}. */
export type RollupOptions = OptionsOf<typeof rollupOptions>;
