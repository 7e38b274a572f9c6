/** Functions for months in the form `2026-03`. */

/** Returns the month that is `count` months later, or earlier if `count` is negative. */
export function monthAfter(month: string, count: number): string {
  const index = indexOf(month) + count;
  return `${String(Math.floor(index / 12)).padStart(4, "0")}-${String((index % 12) + 1).padStart(2, "0")}`;
}

/** Returns the number of months from one to another, both inclusive. */
export function monthCount(from: string, to: string): number {
  return indexOf(to) - indexOf(from) + 1;
}

/** Returns all months from one to another, in order. */
export function monthsFrom(from: string, to: string): readonly string[] {
  return Array.from({ length: Math.max(0, monthCount(from, to)) }, (_, index) => monthAfter(from, index));
}

const long = new Intl.DateTimeFormat("en", { month: "long", year: "numeric", timeZone: "UTC" });
const short = new Intl.DateTimeFormat("en", { month: "short", timeZone: "UTC" });

/** Returns, for example, `March 2026`. */
export function monthTitle(month: string): string {
  return long.format(new Date(`${month}-01T00:00:00Z`));
}

/** Returns, for example, `Mar`. */
export function monthLabel(month: string): string {
  return short.format(new Date(`${month}-01T00:00:00Z`));
}

function indexOf(month: string): number {
  return Number(month.slice(0, 4)) * 12 + Number(month.slice(5)) - 1;
}
