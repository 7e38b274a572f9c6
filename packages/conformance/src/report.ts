import type { ConformanceReport } from "./conformance.ts";
import type { Finding } from "./run-checks.ts";

const words = { pass: "pass", fail: "FAIL", "not applicable": "n/a" } as const;

/** The report as a table for people, failures with what was seen and expected, and a summary. */
export function asTable(report: ConformanceReport): string {
  const idWidth = Math.max(4, ...report.findings.map(({ id }) => id.length));
  const sectionWidth = Math.max(7, ...report.findings.map(({ section }) => section.length));
  const lines = report.findings.flatMap((finding) => {
    const { id, section, title, verdict } = finding;
    const head = `${words[verdict.status].padEnd(4)}  ${id.padEnd(idWidth)}  ${section.padEnd(sectionWidth)}  ${title}`;
    const indent = " ".repeat(6);
    if (verdict.status === "fail") {
      return [head, `${indent}seen:     ${verdict.seen}`, `${indent}expected: ${verdict.expected}`];
    }
    return verdict.status === "pass" ? [head] : [head, `${indent}${verdict.reason}`];
  });
  const { passed, failed, notApplicable } = report;
  return [
    `${report.url} as a service of the ${report.profile} profile`,
    "",
    ...lines,
    "",
    `${passed} passed, ${failed} failed, ${notApplicable} not applicable: ${setsOf(report)}`,
    "",
  ].join("\n");
}

function setsOf({ findings, house }: ConformanceReport): string {
  const failed = (source: Finding["source"]): number =>
    findings.filter((each) => each.source === source && each.verdict.status === "fail").length;
  const contract = `the contract is ${failed("contract") === 0 ? "kept" : "broken"}`;
  return house ? `${contract}, ${failed("house")} choices of the house are not kept` : contract;
}

/** The report as JUnit XML, one test case a rule. */
export function asJUnit(report: ConformanceReport): string {
  const cases = report.findings.map(({ id, title, section, verdict, durationMs }) => {
    const start = `  <testcase classname="${xml(section)}" name="${xml(`${id} ${title}`)}" time="${seconds(durationMs)}"`;
    if (verdict.status === "pass") return `${start}/>`;
    const inner =
      verdict.status === "fail"
        ? `<failure message="${xml(verdict.seen)}">expected: ${xml(verdict.expected)}</failure>`
        : `<skipped message="${xml(verdict.reason)}"/>`;
    return `${start}>${inner}</testcase>`;
  });
  const counts = `tests="${report.findings.length}" failures="${report.failed}" skipped="${report.notApplicable}"`;
  const suite = `<testsuite name="${xml(`conformance of ${report.url}`)}" ${counts} time="${seconds(report.durationMs)}">`;
  return `<?xml version="1.0" encoding="UTF-8"?>\n${suite}\n${cases.join("\n")}\n</testsuite>\n`;
}

function seconds(milliseconds: number): string {
  return (milliseconds / 1000).toFixed(3);
}

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };

function xml(text: string): string {
  return text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? "");
}
