/** The local time of a zone at every minute of a span, with the local minutes that are skipped. */
export interface Wall {
  /** For every minute, its moment in UTC and the local time, encoded as if it were UTC. */
  readonly minutes: readonly { readonly utc: number; readonly local: number; readonly second: boolean }[];
  /** Skipped local times, each with its moment in UTC if the offset had not changed. */
  readonly skipped: readonly { readonly utc: number; readonly local: number }[];
}

const MINUTE = 60_000;

/** Reads the clocks minute by minute from their formatted fields, independently of the code under test. */
export function wallOf(zone: string, from: number, count: number): Wall {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
  });
  const minutes: { utc: number; local: number; second: boolean }[] = [];
  const skipped: { utc: number; local: number }[] = [];
  const seen = new Set<number>();
  for (let n = 0; n < count; n++) {
    const utc = from + n * MINUTE;
    const [, month, day, year, hour, minute] =
      /^(\d+)\/(\d+)\/(\d+), (\d+):(\d+)$/.exec(format.format(utc)) ?? [];
    const local = Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute));
    const before = minutes.at(-1);
    if (before !== undefined) {
      for (let lost = before.local + MINUTE; lost < local; lost += MINUTE) {
        skipped.push({ local: lost, utc: lost + (before.utc - before.local) });
      }
    }
    minutes.push({ utc, local, second: seen.has(local) });
    seen.add(local);
  }
  return { minutes, skipped };
}

/** Returns for every value whether a list of numbers, ranges and steps allows it. */
function allowed(field: string, low: number, high: number): readonly boolean[] {
  const values: boolean[] = Array.from({ length: high + 1 }, () => false);
  for (const part of field.split(",")) {
    const [, span = "", step = "1"] = /^([^/]+)(?:\/(\d+))?$/.exec(part) ?? [];
    const [first = 0, last = first] = span === "*" ? [low, high] : span.split("-").map(Number);
    for (let each = first; each <= last; each += Number(step)) values[each] = true;
  }
  return values;
}

/** Returns all moments of an expression in a span, in order. */
export function momentsOf(expression: string, { minutes, skipped }: Wall): number[] {
  const [minute = "", hour = "", day = "", month = "", weekday = ""] = expression.split(" ");
  const ofMinute = allowed(minute, 0, 59);
  const ofHour = allowed(hour, 0, 23);
  const ofDay = allowed(day, 1, 31);
  const ofMonth = allowed(month, 1, 12);
  const ofWeekday = allowed(weekday, 0, 7);
  const both = day.startsWith("*") || weekday.startsWith("*");
  const matches = (local: number): boolean => {
    const date = new Date(local);
    if (ofMinute[date.getUTCMinutes()] !== true || ofHour[date.getUTCHours()] !== true) return false;
    if (ofMonth[date.getUTCMonth() + 1] !== true) return false;
    const byDay = ofDay[date.getUTCDate()] === true;
    const today = date.getUTCDay();
    const byWeekday = ofWeekday[today] === true || (today === 0 && ofWeekday[7] === true);
    return both ? byDay && byWeekday : byDay || byWeekday;
  };
  const everyHour = !ofHour.includes(false);
  const moments = [
    ...minutes.filter(({ local, second }) => matches(local) && (everyHour || !second)),
    ...skipped.filter(({ local }) => matches(local)),
  ];
  return [...new Set(moments.map(({ utc }) => utc))].sort((a, b) => a - b);
}
