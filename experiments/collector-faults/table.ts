import type { Latency } from "./rules.ts";

/** One line of the table. */
export interface Row {
  readonly fault: string;
  readonly rounds: number;
  readonly requests: number;
  readonly latency: Latency | undefined;
  /** Undefined, like the next two members, if the process exited before it could report them. */
  readonly exported: number | undefined;
  readonly dropped: number | undefined;
  readonly failedBatches: number | undefined;
  readonly states: readonly string[];
  readonly isHeld: boolean;
}

/** Returns the lines of a table of the rows. */
export function tableOf(rows: readonly Row[]): readonly string[] {
  const ms = (value: number | undefined): string => (value === undefined ? "-" : `${value.toFixed(2)} ms`);
  const count = (value: number | undefined): string => String(value ?? "-");
  const cells = rows.map((row) => [
    row.fault,
    String(row.rounds),
    String(row.requests),
    ms(row.latency?.p50),
    ms(row.latency?.p99),
    count(row.exported),
    count(row.dropped),
    count(row.failedBatches),
    row.states.join(", ") || "-",
    row.isHeld ? "held" : "BROKEN",
  ]);
  const lines = [
    ["fault", "rounds", "requests", "p50", "p99", "exported", "dropped", "failed", "/ready", "verdict"],
    ...cells,
  ];
  const widths = (lines[0] ?? []).map((_, column) =>
    Math.max(...lines.map((line) => (line[column] ?? "").length)),
  );
  return lines.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}

/** Returns one row for each fault, with the sums of its rounds and the highest latencies. */
export function merged(rows: readonly Row[]): readonly Row[] {
  const sums = new Map<string, Row>();
  for (const row of rows) {
    const sum = sums.get(row.fault);
    sums.set(row.fault, sum === undefined ? row : sumOf(sum, row));
  }
  return [...sums.values()];
}

function sumOf(sum: Row, row: Row): Row {
  return {
    fault: sum.fault,
    rounds: sum.rounds + row.rounds,
    requests: sum.requests + row.requests,
    latency: sum.latency &&
      row.latency && {
        p50: Math.max(sum.latency.p50, row.latency.p50),
        p99: Math.max(sum.latency.p99, row.latency.p99),
      },
    exported: total(sum.exported, row.exported),
    dropped: total(sum.dropped, row.dropped),
    failedBatches: total(sum.failedBatches, row.failedBatches),
    states: [...new Set([...sum.states, ...row.states])],
    isHeld: sum.isHeld && row.isHeld,
  };
}

function total(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? undefined : one + other;
}
