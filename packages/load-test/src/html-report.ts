import { svgChart } from "./chart.ts";
import { escapeHtml as escape } from "./escape-html.ts";
import { findingsOf, notesOf } from "./findings.ts";
import { errorKinds, latencyText, numberText } from "./report-texts.ts";
import type { LoadReport, StepReport } from "./report.ts";
import { titleOf, verdictOf } from "./text-report.ts";

const style = `
:root { color-scheme: light dark; --line: #c8ccd2; --s0: #0b57d0; --s1: #8a5a00; --s2: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --line: #4a4f57; --s0: #8ab4f8; --s1: #f2c063; --s2: #f28b82; } }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
svg { width: 100%; max-width: 60rem; height: auto; font-size: 13px; }
svg text { fill: currentColor; }
svg line, svg polyline { fill: none; stroke-width: 2; }
svg .grid { stroke: var(--line); stroke-width: 1; }
${[0, 1, 2].map((at) => `svg .s${at} { stroke: var(--s${at}); } svg circle.s${at} { fill: var(--s${at}); }`).join("\n")}
.wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: 0.3rem 0.6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
th:last-child, td:last-child { text-align: left; }
caption { text-align: left; padding-bottom: 0.5rem; }
`;

/** Returns the report as one HTML page, which loads nothing and needs no script. */
export function htmlReport(report: LoadReport): string {
  const { url, startedAt, steps, routes, skipped } = report;
  const notes = steps.flatMap((step) => notesOf(step).map((note) => `${clientsOf(step)}: ${note}`));
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Load test of ${escape(url)}</title>
<style>${style}</style>
</head>
<body>
<main>
<h1>Load test of ${escape(url)}</h1>
<p>${escape(titleOf(report))}. Started at <time>${escape(startedAt)}</time>.</p>
<h2>Result</h2>
${list(findingsOf(report))}
<h2>Throughput</h2>
${throughputChart(steps)}
<h2>Latency</h2>
${latencyChart(steps)}
<h2>Steps</h2>
${tableOf(report)}
${notes.length === 0 ? "" : `<h2>Notes</h2>\n${list(notes)}\n`}<h2>Routes</h2>
${list(routes)}
${skipped.length === 0 ? "" : `<h2>Skipped routes</h2>\n${list(skipped.map(({ route, reason }) => `${route}: ${reason}`))}\n`}</main>
</body>
</html>
`;
}

function throughputChart(steps: readonly StepReport[]): string {
  const values = steps.map(({ requestsPerSecond }) => requestsPerSecond);
  return svgChart({
    id: "throughput",
    title: "Throughput by number of clients",
    description: steps
      .map((step, at) => `${clientsOf(step)}: ${numberText(values[at] ?? 0)} requests/s`)
      .join("; "),
    xTitle: "clients",
    yTitle: "requests/s",
    labels: steps.map(({ clients }) => String(clients)),
    series: [{ name: "requests/s", values }],
    isLogarithmic: false,
    format: numberText,
  });
}

function latencyChart(steps: readonly StepReport[]): string {
  const kinds = ["p50", "p95", "p99"] as const;
  const described = steps.map((step) => {
    const parts = kinds.map((kind) => `${kind} ${latencyText(step.latencyUs[kind])}`);
    return `${clientsOf(step)}: ${parts.join(", ")}`;
  });
  return svgChart({
    id: "latency",
    title: "Latency by number of clients",
    description: described.join("; "),
    xTitle: "clients",
    yTitle: "latency, each line ten times the one below",
    labels: steps.map(({ clients }) => String(clients)),
    series: kinds.map((name) => ({ name, values: steps.map(({ latencyUs }) => latencyUs[name]) })),
    isLogarithmic: true,
    format: (us) => `${numberText(us / 1000) === "0" ? us / 1000 : (us / 1000).toLocaleString("en")} ms`,
  });
}

function tableOf({ steps, maxP99Ms, maxErrorRate }: LoadReport): string {
  const errors = errorKinds.map(({ name }) => name);
  const heads = [
    "clients",
    "requests/s",
    "p50",
    "p95",
    "p99",
    "max",
    "2xx",
    "other",
    ...errors,
    "CPU",
    "verdict",
  ];
  const rows = steps.map((step) => {
    const { clients, requestsPerSecond, latencyUs, successes, others, generatorCpu, broken } = step;
    const { p50, p95, p99, max } = latencyUs;
    const cells = [
      numberText(requestsPerSecond),
      ...[p50, p95, p99, max].map(latencyText),
      ...[successes, others, ...errorKinds.map(({ of }) => step.errors[of])].map(numberText),
      `${Math.round(generatorCpu)} %`,
      verdictOf(step, broken),
    ];
    const rest = cells.map((cell) => `<td>${escape(cell)}</td>`).join("");
    return `<tr><th scope="row">${clients}</th>${rest}</tr>`;
  });
  return `<div class="wide" role="region" aria-label="Table of steps" tabindex="0">
<table>
<caption>A step breaks above a p99 of ${maxP99Ms} ms or ${maxErrorRate} % of errors. CPU is that of the load test itself.</caption>
<thead><tr>${heads.map((head) => `<th scope="col">${escape(head)}</th>`).join("")}</tr></thead>
<tbody>
${rows.join("\n")}
</tbody>
</table>
</div>`;
}

function list(lines: readonly string[]): string {
  return `<ul>\n${lines.map((line) => `<li>${escape(line)}</li>`).join("\n")}\n</ul>`;
}

function clientsOf({ clients }: StepReport): string {
  return `${clients} ${clients === 1 ? "client" : "clients"}`;
}
