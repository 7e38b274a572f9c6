import { literal } from "@svc/sql";
import { wrong } from "./checks.ts";

// Three-letter names that are safe. Another such name may denote a fixed offset in PostgreSQL but a zone with clock
// changes in Node, or two different zones: BST can be British summer time or Bangladesh time.
const SHORT: ReadonlySet<string> = new Set(["gmt", "prc", "roc", "rok", "uct", "utc"]);
const AMBIGUOUS = /^(?:[a-z]{3}$|systemv\/)/i;

/** Completes "must be ..." for a zone; {@link isZone} checks the same rule. */
export const ZONE_EXPECTED = "an IANA time zone such as Europe/Berlin or UTC";

/**
 * Returns whether a name is in the time zone database. PostgreSQL, which computes with the zone, also accepts `Foo+5`, and
 * reads the sign of `+05:00` the other way round.
 */
export function isZone(zone: string): boolean {
  const isName = /^[A-Za-z][\w+\-/]{0,63}$/.test(zone);
  const isMeant = SHORT.has(zone.toLowerCase()) || !AMBIGUOUS.test(zone);
  return isName && isMeant && isKnown(zone);
}

/** Rejects a name that is not in the time zone database. @throws ConfigurationError */
export function checkZone(zone: string): void {
  if (isZone(zone)) return;
  throw wrong("timeZone", `must be ${ZONE_EXPECTED}; it is ${JSON.stringify(zone.slice(0, 80))}`);
}

function isKnown(zone: string): boolean {
  try {
    new Intl.DateTimeFormat("en", { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

/**
 * Returns the SQL for the first instant of the local month whose first midnight is the `timestamp` `month` (ROLL-4). If
 * clocks go back across midnight, midnight occurs twice and PostgreSQL returns the second occurrence; if midnight is
 * skipped, PostgreSQL may return an instant that is too late. So the expression also tries earlier instants, at the
 * usual sizes of clock changes and at the previous day's offset, and takes the first instant that is in the month.
 */
export function startSql(month: string, zone: string): string {
  const z = literal(zone);
  const answered = `(${month} at time zone ${z})`;
  const dayBefore = `(${answered} - interval '1 day')`;
  const byOffsetBefore = `(${month} - (${dayBefore} at time zone ${z} - ${dayBefore} at time zone 'UTC')) at time zone 'UTC'`;
  const tried = [
    ...["30 minutes", "60 minutes", "90 minutes"].map((step) => `${answered} - interval '${step}'`),
    byOffsetBefore,
  ].map((at) => `case when (${at}) at time zone ${z} >= ${month} then ${at} end`);
  return `least(${[answered, ...tried].join(", ")})`;
}

/**
 * Start of the supported time range: rows from this instant until END belong to a month; rows outside, and at infinity,
 * belong to no month.
 */
export const FIRST = "timestamptz '1000-01-01 00:00+00'";
export const END = "timestamptz '9999-01-01 00:00+00'";

/** Returns the SQL for the start and end of a month, as columns with the given names. */
export function boundsSql(
  month: string,
  next: string,
  zone: string,
  [from, to]: readonly [string, string],
): string {
  return `greatest(${startSql(month, zone)}, ${FIRST}) as ${from}, least(${startSql(next, zone)}, ${END}) as ${to}`;
}

/**
 * Returns the SQL for the month of an instant as `timestamp`, given the month of its local date and that month's start
 * and end.
 */
export function monthSql(at: string, guess: string, from: string, to: string): string {
  return `case when ${at} < ${from} then ${guess} - interval '1 month'
    when ${at} >= ${to} then ${guess} + interval '1 month' else ${guess} end`;
}
