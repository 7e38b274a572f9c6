import { defineOptions, kinds as k } from "@svc/options";

/** Default name of the table of ticks. */
export const DEFAULT_TICKS_TABLE = "svc_schedule_ticks";

/**
 * The options that also exist in `[plugin.queue]`. This file imports no other package, so that a disabled plugin costs
 * little.
 */
export const ticksOptions = defineOptions("[plugin.queue]", {
  /** Table of ticks in the same database, by name (at most 48 bytes) or `schema.name`. Default: `svc_schedule_ticks`. */
  ticksTable: { key: "ticks_table", kind: k.withDefault(k.string(), DEFAULT_TICKS_TABLE) },
  /** Days to keep ticks, 1 to 3,650; the newest tick of each schedule is kept forever. Default: 7. */
  retentionDays: { key: "ticks_retention_days", kind: k.withDefault(k.integer({ min: 1, max: 3650 }), 7) },
});
