import type { KeyNote } from "./key-ring.ts";
import { duration } from "./ring-rules.ts";

/** Returns the keys of a ring as a human-readable table. */
export function keyTable(keys: readonly KeyNote[], now: number): string {
  const rows = [
    ["STATE", "ALG", "KID", "SINCE", "THEN"],
    ...keys.map((key) => [key.state, key.algorithm, key.kid, since(key, now), then(key, now)]),
  ];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd();
  return `${rows.map(line).join("\n")}\n`;
}

function since(key: KeyNote, now: number): string {
  const at = {
    next: key.publishedAt,
    current: key.promotedAt,
    previous: key.replacedAt,
    retired: key.retiredAt,
  };
  const date = at[key.state] ?? key.publishedAt;
  return `${date.slice(0, 16).replace("T", " ")} (${duration(now - Date.parse(date))})`;
}

function then({ state, dueAt }: KeyNote, now: number): string {
  if (dueAt === undefined) return "";
  const left = Date.parse(dueAt) - now;
  const what = state === "next" ? "promote" : "retire";
  return left <= 0 ? `may be ${what}d` : `${what} in ${duration(left)}`;
}
