import { errorKinds, latencyText, numberText } from "./report-texts.ts";
import { findingsOf, notesOf } from "./findings.ts";
import type { LoadReport, StepReport } from "./report.ts";

const heads = "clients requests/s p50 p95 p99 max 2xx other errors CPU verdict".split(" ");

/** Returns the report as a table with notes. */
export function textReport(report: LoadReport): string {
  const rows = [heads, ...report.steps.map(rowOf)];
  const widths = heads.map((_, at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  const last = heads.length - 1;
  const table = rows.map((row) =>
    row
      .map((cell, at) => (at === last ? cell : cell.padStart(widths[at] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
  const paragraphs = [
    [titleOf(report), ...report.skipped.map(({ route, reason }) => `skipped ${route}: ${reason}`)],
    table,
    report.steps.flatMap((step) => notesOf(step).map((note) => `${clientsOf(step)}: ${note}`)),
    findingsOf(report),
  ];
  return `${paragraphs
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join("\n"))
    .join("\n\n")}\n`;
}

/** Returns one sentence that states what was loaded and how. */
export function titleOf({ url, routes, rate, secondsPerStep, withoutDescription }: LoadReport): string {
  const how = rate === null ? "closed loop" : `open loop, ${numberText(rate)} requests/s due`;
  const from = withoutDescription === null ? "" : ` without a description (${withoutDescription})`;
  return `${url}: ${routes.length} ${routes.length === 1 ? "route" : "routes"}${from}, ${secondsPerStep} s per step, ${how}`;
}

function rowOf(step: StepReport): readonly string[] {
  const { clients, requestsPerSecond, latencyUs, successes, others, errors, generatorCpu, broken } = step;
  const { p50, p95, p99, max } = latencyUs;
  return [
    String(clients),
    numberText(requestsPerSecond),
    ...[p50, p95, p99, max].map(latencyText),
    numberText(successes),
    numberText(others),
    numberText(errorKinds.reduce((sum, { of }) => sum + errors[of], 0)),
    `${Math.round(generatorCpu)} %`,
    verdictOf(step, broken),
  ];
}

export function verdictOf({ isInterrupted }: StepReport, broken: readonly string[]): string {
  if (broken.length > 0) return "BROKEN";
  return isInterrupted ? "interrupted" : "ok";
}

function clientsOf({ clients }: StepReport): string {
  return `${clients} ${clients === 1 ? "client" : "clients"}`;
}
