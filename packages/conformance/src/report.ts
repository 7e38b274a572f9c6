import type { ConformanceReport } from "./conformance-report.ts";

const words = { pass: "pass", fail: "FAIL", "not applicable": "n/a" } as const;

/** Formats the report as a table with a summary. Failures show the observed and the expected behaviour. */
export function asTable(report: ConformanceReport): string {
  const idWidth = Math.max(4, ...report.findings.map(({ id }) => id.length));
  const sectionWidth = Math.max(7, ...report.findings.map(({ section }) => section.length));
  const lines = report.findings.flatMap((finding) => {
    const { id, section, title, verdict } = finding;
    const head = `${words[verdict.status].padEnd(4)}  ${id.padEnd(idWidth)}  ${section.padEnd(sectionWidth)}  ${title}`;
    const indent = " ".repeat(6);
    if (verdict.status === "fail") {
      return [
        head,
        `${indent}observed: ${verdict.seen}`,
        `${indent}expected: ${verdict.expected}`,
        ...indented(`${indent}rule:     `, finding.text),
      ];
    }
    return verdict.status === "pass" ? [head] : [head, `${indent}${verdict.reason}`];
  });
  return [
    `conformance of ${report.url}, ${report.profile} profile`,
    "",
    ...lines,
    "",
    summary(report),
    "",
  ].join("\n");
}

/** Returns the last line: the counts of rules, the verdict, and the names that were not covered. */
function summary({ passed, failed, notApplicable, verdict, shortfalls, notSeen }: ConformanceReport): string {
  const counts = `${passed} passed, ${failed} failed, ${notApplicable} not applicable`;
  const unseen = notSeen.length === 0 ? [] : [`not covered: ${notSeen.join(", ")}`];
  return `${counts}: ${[verdict, ...shortfalls, ...unseen].join("; ")}`;
}

/** Formats a multi-line string after a label. */
function indented(label: string, text: string): readonly string[] {
  return text
    .split("\n")
    .map((line, index) => `${index === 0 ? label : " ".repeat(label.length)}${line}`.trimEnd());
}

/** Formats the report as JUnit XML: one test case per rule, and one failing test case for each shortfall of the run. */
export function asJUnit(report: ConformanceReport): string {
  const cases = report.findings.map(({ id, title, text, section, verdict, durationMs }) => {
    const start = `  <testcase classname="${xml(section)}" name="${xml(`${id} ${title}`)}" time="${seconds(durationMs)}"`;
    if (verdict.status === "pass") return `${start}/>`;
    const inner =
      verdict.status === "fail"
        ? `<failure message="${xml(verdict.seen)}">expected: ${xml(verdict.expected)}\nrule: ${xml(text)}</failure>`
        : `<skipped message="${xml(verdict.reason)}"/>`;
    return `${start}>${inner}</testcase>`;
  });
  const tooLittle = report.shortfalls.map(
    (text) =>
      `  <testcase classname="run" name="enough rules were checked" time="0"><failure message="${xml(text)}"/></testcase>`,
  );
  const all = [...cases, ...tooLittle];
  const counts = `tests="${all.length}" failures="${report.failed + tooLittle.length}" skipped="${report.notApplicable}"`;
  const suite = `<testsuite name="${xml(`conformance of ${report.url}`)}" ${counts} time="${seconds(report.durationMs)}">`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${suite}\n${all.join("\n")}\n</testsuite>\n`;
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(3);
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function xml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? "");
}
