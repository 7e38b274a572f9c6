import { defineOptions, kinds as k, type ResolvedOptions } from "@svc/options";
import type { BoundRollup } from "./bound-rollup.ts";
import type { Rollup } from "./rollup.ts";
import type { RollupOptions } from "./options.ts";

/**
 * Options of a rollup whose time zone and name are optional: they default to the plugin's time zone and the rollup's key.
 */
export type RollupDraft = Omit<RollupOptions, "timeZone" | "name"> &
  Partial<Pick<RollupOptions, "timeZone" | "name">>;

/** The rollups of a service by name: results of `defineRollup()`, or its options. */
export interface ServiceRollups {
  readonly [name: string]: Rollup | RollupDraft;
}

/** The options in `[plugin.rollups]`. */
export const rollupsOptions = defineOptions("[plugin.rollups]", {
  /** How `touched()` refreshes: `inline` in the transaction, or by a `job` of the plugin `queue`. Default: `inline`. */
  refresh: { key: "refresh", kind: k.withDefault(k.oneOf("inline", "job"), "inline") },
  /**
   * Seconds between two verifications of all tenants, by jobs of the plugin `queue`; at most 31,622,400. 0 turns this off.
   * Default: 0.
   */
  verifyEverySeconds: {
    key: "verify_every",
    kind: k.withDefault(k.integer({ min: 0, max: 366 * 86_400 }), 0),
  },
  /** Number of months that a verification compares: the current one and those before it, 1 to 1,200. Default: 3. */
  verifyMonths: { key: "verify_months", kind: k.withDefault(k.integer({ min: 1, max: 1200 }), 3) },
  /** Whether a verification recomputes the buckets that differ. Default: false. */
  repair: { key: "repair", kind: k.withDefault(k.boolean(), false) },
  /** Time zone of rollups without their own. Default: `UTC`. */
  zone: { key: "zone", kind: k.withDefault(k.string(), "UTC") },
  /** The rollups by name: results of `defineRollup()`, or its options. Required. */
  rollups: { kind: k.withDefault(k.objectWith<ServiceRollups>("an object of rollups by name"), {}) },
});

export type RollupsSettings = ResolvedOptions<(typeof rollupsOptions)["keys"]>;

/** The member that the plugin adds to a service. */
export interface RollupsMembers {
  /** The rollups by name, bound to the database and the queue of the service. */
  readonly rollups: Readonly<Record<string, BoundRollup>>;
}
