/** Months by their names, such as `2026-03`. */

/** The one so many months later, or earlier. */
export function monthAfter(month: string, count: number): string {
  const index = indexOf(month) + count;
  return `${String(Math.floor(index / 12)).padStart(4, "0")}-${String((index % 12) + 1).padStart(2, "0")}`;
}

/** How many months there are from one to another, both counted. */
export function monthCount(from: string, to: string): number {
  return indexOf(to) - indexOf(from) + 1;
}

/** All of them, in their order. */
export function monthsFrom(from: string, to: string): readonly string[] {
  return Array.from({ length: Math.max(0, monthCount(from, to)) }, (_, index) => monthAfter(from, index));
}

const long = new Intl.DateTimeFormat("en", { month: "long", year: "numeric", timeZone: "UTC" });
const short = new Intl.DateTimeFormat("en", { month: "short", timeZone: "UTC" });

/** Such as `March 2026`. */
export function monthTitle(month: string): string {
  return long.format(new Date(`${month}-01T00:00:00Z`));
}

/** Such as `Mar`. */
export function monthLabel(month: string): string {
  return short.format(new Date(`${month}-01T00:00:00Z`));
}

function indexOf(month: string): number {
  return Number(month.slice(0, 4)) * 12 + Number(month.slice(5)) - 1;
}
