import type { LocalDates } from "./arguments.ts";

/** Returns the local month of an instant and the months before it, as a range of `count` months. */
export function monthsBefore(at: Date, timeZone: string, count: number): LocalDates {
  const parts = new Intl.DateTimeFormat("en-CA", {
    timeZone,
    year: "numeric",
    month: "2-digit",
  }).formatToParts(at);
  const valueOf = (type: string): number => Number(parts.find((part) => part.type === type)?.value);
  const last = valueOf("year") * 12 + valueOf("month") - 1;
  return { from: dayOf(last - count + 1), to: dayOf(last) };
}

function dayOf(month: number): string {
  return `${String(Math.floor(month / 12)).padStart(4, "0")}-${String((month % 12) + 1).padStart(2, "0")}-01`;
}
