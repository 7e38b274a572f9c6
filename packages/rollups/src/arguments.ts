import { isTenantId, TENANT_ID_EXPECTED } from "@svc/context";
import { refused } from "./errors.ts";
import type { Definition, TenantType } from "./definition.ts";

/** A bucket, identified by any instant in it. */
export interface Moment {
  /** The tenant; null for rows without one. */
  readonly tenant: string | number | bigint | null;
  /** A `Date` or an ISO 8601 string with an offset, in the years 1000 to 9998. */
  readonly at: Date | string;
}

/** A range of local dates, both inclusive, widened to whole months (ROLL-7). */
export interface LocalDates {
  /** First day, `YYYY-MM-DD`. */
  readonly from: string;
  /** Last day, `YYYY-MM-DD`. */
  readonly to: string;
}

/** Arguments of `rebuild` and `verify`. */
export interface TenantDates extends LocalDates {
  /** The tenant; null for rows without one. */
  readonly tenant: string | number | bigint | null;
}

const MAX_MONTHS = 1200;
export const UUID: RegExp = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
const BITS: Partial<Record<TenantType, number>> = { integer: 32, bigint: 64 };
const ISO = /^(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d)?)((?<=:\d\d:\d\d)\.\d+)?(Z|[+-]\d\d:\d\d)$/i;

/**
 * Rejects a value that is not an object, or that has members other than `known`.
 * @throws RollupError `ERR_SVC_ROLLUP_ARGUMENT`
 */
export function checkMembers(what: string, given: unknown, known: readonly string[]): void {
  const isObject = typeof given === "object" && given !== null && !Array.isArray(given);
  if (!isObject) throw refused(`${what} must be an object with ${known.join(", ")}`);
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown !== undefined) {
    throw refused(
      `unknown member ${JSON.stringify(unknown.slice(0, 80))} in ${what}; expected one of ${known.join(", ")}`,
    );
  }
}

/** Returns the tenant as PostgreSQL would write it. @throws RollupError `ERR_SVC_ROLLUP_ARGUMENT` */
export function tenantOf(definition: Definition, given: unknown): string | null {
  if (given === null) return null;
  if (definition.tenant === undefined)
    throw refused("tenant must be null, because the rollup has no tenant column");
  const { tenantType } = definition;
  const bits = BITS[tenantType];
  if (bits !== undefined) {
    const text =
      typeof given === "string" || typeof given === "bigint" || isWhole(given) ? String(given) : "";
    if (isInteger(text, bits)) return String(BigInt(text));
    throw refused(`tenant must be a whole number (${tenantType}), or null`);
  }
  if (typeof given !== "string") throw refused(`tenant must be a string or null; it is ${typeof given}`);
  if (tenantType === "uuid") {
    if (UUID.test(given)) return given.toLowerCase();
    throw refused("tenant must be a UUID, or null");
  }
  if (!isTenantId(given)) throw refused(`tenant must have ${TENANT_ID_EXPECTED}`);
  return given;
}

/** Returns whether a string is a whole number that fits into `bits` bits. */
export function isInteger(text: string, bits: number): boolean {
  return /^-?\d{1,19}$/.test(text) && BigInt.asIntN(bits, BigInt(text)) === BigInt(text);
}

function isWhole(value: unknown): value is number {
  return Number.isSafeInteger(value);
}

/** Returns the instant as an ISO 8601 string in UTC. @throws RollupError `ERR_SVC_ROLLUP_ARGUMENT` */
export function instantOf(given: unknown): string {
  const at = given instanceof Date ? new Date(given) : typeof given === "string" ? parsed(given) : undefined;
  if (at === undefined)
    throw refused("at must be a Date or an ISO 8601 string with an offset, such as 2026-03-01T09:00:00Z");
  const year = at.getUTCFullYear();
  if (year >= 1000 && year <= 9998) return at.toISOString();
  throw refused("at must be a valid date in the years 1000 to 9998");
}

function parsed(text: string): Date | undefined {
  const parts = ISO.exec(text);
  if (parts === null || !isDate(text.slice(0, 10))) return undefined;
  const [, local, fraction = "", offset] = parts;
  // Round to microseconds first, as the server does when it stores a row: further nines may carry into the next month.
  const micros = Math.round(Number(`0${fraction}`) * 1e6);
  return new Date(Date.parse(`${local}${offset}`.toUpperCase()) + Math.floor(micros / 1000));
}

/**
 * Returns the first day of the first month and of the last month.
 * @throws RollupError `ERR_SVC_ROLLUP_ARGUMENT`
 */
export function monthsOf(given: LocalDates, { bounded }: { readonly bounded: boolean }): [string, string] {
  const [from, to] = [dateOf("from", given.from), dateOf("to", given.to)];
  if (from > to) throw refused(`from must not be after to; ${from} is after ${to}`);
  const count = monthNumber(to) - monthNumber(from) + 1;
  if (bounded && count > MAX_MONTHS)
    throw refused(`a range may have at most ${MAX_MONTHS} months; this one has ${count}`);
  return [`${from.slice(0, 7)}-01`, `${to.slice(0, 7)}-01`];
}

/** Returns the first days of all months of a range. */
export function eachMonth([first, last]: readonly [string, string]): string[] {
  const from = monthNumber(first);
  return Array.from({ length: monthNumber(last) - from + 1 }, (_, index) => {
    const month = from + index;
    return `${String(Math.floor(month / 12)).padStart(4, "0")}-${String((month % 12) + 1).padStart(2, "0")}-01`;
  });
}

function monthNumber(date: string): number {
  return Number(date.slice(0, 4)) * 12 + Number(date.slice(5, 7)) - 1;
}

function dateOf(name: string, given: unknown): string {
  if (typeof given === "string" && /^[1-9]\d{3}-\d\d-\d\d$/.test(given) && given < "9999" && isDate(given))
    return given;
  throw refused(`${name} must be a local date YYYY-MM-DD in the years 1000 to 9998`);
}

function isDate(text: string): boolean {
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}
