import type { Errors } from "./report.ts";

/** The kinds of errors and how reports name them. */
export const errorKinds: readonly { readonly of: keyof Errors; readonly name: string }[] = [
  { of: "serverErrors", name: "5xx" },
  { of: "tooManyRequests", name: "429" },
  { of: "refused", name: "no connection" },
  { of: "reset", name: "connection lost" },
  { of: "timeout", name: "timed out" },
  { of: "badAnswer", name: "invalid response" },
];

/** Returns a number with separators, and a decimal below 10. */
export function numberText(value: number): string {
  const digits = value < 10 && !Number.isInteger(value) ? 1 : 0;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

/** Returns a latency in milliseconds from one in microseconds, with three significant digits. */
export function latencyText(us: number): string {
  const ms = us / 1000;
  const digits = ms < 10 ? 2 : ms < 100 ? 1 : 0;
  return `${ms.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits })} ms`;
}
