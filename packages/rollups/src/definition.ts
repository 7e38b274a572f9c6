import type { Combine } from "./combine.ts";

export type TenantType = "text" | "uuid" | "integer" | "bigint";

/** A column to group by. */
export interface Group {
  readonly name: string;
  readonly sql: string;
  readonly column: string;
  readonly type: string;
  /** Maximum number of characters; undefined for types other than text. */
  readonly length: number | undefined;
  readonly whenNull: string | undefined;
  readonly cut: boolean;
}

/** A measure, with its options resolved. */
export interface Measure {
  readonly name: string;
  readonly sql: string;
  readonly aggregate: string;
  readonly type: string;
  /** Undefined if the results of several months cannot be combined. */
  readonly combine: Combine | undefined;
}

/**
 * A rollup with all defaults applied. Table and column names are quoted, except in members whose name begins with
 * `given`.
 */
export interface Definition {
  readonly name: string;
  readonly givenTable: string;
  readonly table: string;
  readonly givenSource: string;
  readonly source: string;
  readonly givenTenant: string | undefined;
  readonly tenant: string | undefined;
  readonly tenantType: TenantType;
  /** Table that lists the tenants; undefined if the rows and totals name them. */
  readonly tenantTable: string | undefined;
  readonly givenTime: string;
  readonly time: string;
  readonly where: string | undefined;
  readonly groups: readonly Group[];
  readonly measures: readonly Measure[];
  readonly zone: string;
  readonly setting: string | undefined;
  readonly commandTimeoutMs: number;
  readonly maintenanceTimeoutMs: number;
}
