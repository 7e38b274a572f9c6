import { ConfigurationError } from "@svc/options";
import { literal } from "./literal.ts";

// Other names of three letters are fixed offsets to PostgreSQL, and to Node zones whose clocks change, or of other countries:
// BST is British summer here and Dhaka there.
const SHORT: ReadonlySet<string> = new Set(["gmt", "prc", "roc", "rok", "uct", "utc"]);
const AMBIGUOUS = /^(?:[a-z]{3}$|systemv\/)/i;

/**
 * Refuses what is no zone of the time zone database. The server is the one that computes with it; but it takes `Foo+5` too,
 * and reads the sign of `+05:00` the other way round.
 *
 * @throws ConfigurationError
 */
export function checkZone(subject: string, zone: string): void {
  const isName = /^[A-Za-z][\w+\-/]{0,63}$/.test(zone);
  const isMeant = SHORT.has(zone.toLowerCase()) || !AMBIGUOUS.test(zone);
  if (isName && isMeant && isKnown(zone)) return;
  const shown = JSON.stringify(zone.slice(0, 80));
  throw new ConfigurationError(subject, [
    {
      key: "timeZone",
      message: `must be a zone of the time zone database, as Europe/Berlin or UTC; it is ${shown}`,
    },
  ]);
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
 * The first instant whose local date is that of `month`, a `timestamp` of its first midnight (ROLL-4). That midnight may come
 * twice, when clocks go back across it, and PostgreSQL answers the second one; or never, and it may answer a later instant
 * than the first. So instants before it are tried: by the steps that clocks were changed by, and by the offset of the day
 * before. Of those that are in the month already the first one counts.
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

/** Between these instants a row is in a month; before and after them, and at infinity, it is in none. */
export const FIRST = "timestamptz '1000-01-01 00:00+00'";
export const END = "timestamptz '9999-01-01 00:00+00'";

/** Where a month begins and ends, as columns of these names. */
export function boundsSql(
  month: string,
  next: string,
  zone: string,
  [from, to]: readonly [string, string],
): string {
  return `greatest(${startSql(month, zone)}, ${FIRST}) as ${from}, least(${startSql(next, zone)}, ${END}) as ${to}`;
}

/** The month, as `timestamp`, that an instant is in, given its local date's month and where that begins and ends. */
export function monthSql(at: string, guess: string, from: string, to: string): string {
  return `case when ${at} < ${from} then ${guess} - interval '1 month'
    when ${at} >= ${to} then ${guess} + interval '1 month' else ${guess} end`;
}
