import {
  type DeadLetterRow,
  LISTED,
  type ListedRow,
  type Overview,
  type RunningRow,
} from "../sql/overview.ts";
import { type Html, markup, trusted } from "@svc/html";
import type { ScheduleRow } from "./options.ts";
import { STYLE } from "./style.ts";

export interface QueuePage {
  readonly table: string;
  readonly overview: Overview;
  /** The time to show, in milliseconds since the Unix epoch. */
  readonly now: number;
  /** The target of the forms, relative to the page. */
  readonly action: string;
  /** The result of a retry, to be shown on the page. */
  readonly note: string | undefined;
  readonly schedules: readonly ScheduleRow[] | undefined;
}

/** Returns the complete HTML document. It works without scripts. */
export function queuePage({ table, overview, now, action, note, schedules }: QueuePage): string {
  const { stats, oldest, running, dead } = overview;
  return markup`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Queue ${table}</title>
<style>${trusted(STYLE)}</style>
</head>
<body>
<main>
<h1>Queue ${table}</h1>
${note !== undefined && markup`<p class="note" role="status">${note}</p>`}
<p>As of ${time(now)}.</p>
<dl>
<dt>Pending</dt><dd>${stats.pending}</dd>
<dt>Longest wait</dt><dd>${oldest === null ? "none" : `${duration(oldest.seconds)} (${oldest.task})`}</dd>
<dt>Running</dt><dd>${stats.running}</dd>
<dt>Dead</dt><dd>${stats.dead}</dd>
</dl>
<h2 id="running">Running</h2>
${running.length === 0 ? markup`<p>Nothing is running.</p>` : runningTable(running, stats.running)}
<h2 id="dead">Dead letters</h2>
${dead.length === 0 ? markup`<p>There are no dead letters.</p>` : deadTable(dead, stats.dead, action)}
${schedules !== undefined && markup`<h2 id="schedules">Schedules</h2>\n${schedules.length === 0 ? markup`<p>There are no schedules.</p>` : scheduleTable(schedules)}`}
</main>
</body>
</html>
`.text;
}

function runningTable(rows: readonly RunningRow[], count: number): Html {
  return markup`<div class="wide" role="region" aria-labelledby="running" tabindex="0">
<table>
<caption>Running jobs, earliest lease expiry first${shownOf(rows, count)}. When a lease has expired, another worker may claim the job.</caption>
<thead><tr><th scope="col">Task</th><th scope="col">Tenant</th><th scope="col">Attempt</th><th scope="col">Lease ends</th></tr></thead>
<tbody>
${rows.map((row) => markup`<tr>${named(row)}<td>${leaseEnd(row)}</td></tr>`)}
</tbody>
</table>
</div>`;
}

function leaseEnd({ ends_ms: ends, ended }: RunningRow): Html {
  if (ends === null) return markup`<span class="late">never</span>`;
  return markup`${time(ends)}${ended && markup` <span class="late">has ended</span>`}`;
}

function deadTable(rows: readonly DeadLetterRow[], count: number, action: string): Html {
  const all = count === 1 ? "Retry the dead letter" : `Retry all ${count} dead letters`;
  return markup`<form class="all" method="post" action="${action}"><button name="all" value="1">${all}</button></form>
<div class="wide" role="region" aria-labelledby="dead" tabindex="0">
<table>
<caption>Dead jobs, most recently queued first${shownOf(rows, count)}. They are not retried automatically.</caption>
<thead><tr><th scope="col">Task</th><th scope="col">Tenant</th><th scope="col">Attempts</th><th scope="col">Last error</th><th scope="col">Queued</th><th scope="col">Action</th></tr></thead>
<tbody>
${rows.map((row) => deadRow(row, action))}
</tbody>
</table>
</div>`;
}

function deadRow(row: DeadLetterRow, action: string): Html {
  const { id, task, error, cut, created_ms: created } = row;
  return markup`<tr>${named(row)}
<td class="error">${error ?? "none"}${cut && " …"}</td>
<td>${time(created)}</td>
<td><form method="post" action="${action}">${idButton(id)}Retry<span class="hidden"> ${task}, ${shownId(id)}</span></button></form></td></tr>`;
}

/** Percent-encodes an id that contains a line break, because forms would change it to CR LF. */
function idButton(id: string): Html {
  return /[\r\n]/.test(id)
    ? markup`<button name="encoded" value="${encodeURIComponent(id)}">`
    : markup`<button name="id" value="${id}">`;
}

function scheduleTable(rows: readonly ScheduleRow[]): Html {
  const listed = rows.slice(0, LISTED);
  return markup`<div class="wide" role="region" aria-labelledby="schedules" tabindex="0">
<table>
<caption>Time of the next job of each schedule${shownOf(listed, rows.length)}.</caption>
<thead><tr><th scope="col">Schedule</th><th scope="col">Task</th><th scope="col">Next</th></tr></thead>
<tbody>
${listed.map(({ name, task, at }) => markup`<tr><th scope="row">${name}</th><td>${task}</td><td>${time(Date.parse(at))}</td></tr>`)}
</tbody>
</table>
</div>`;
}

function named({ id, task, tenant, attempts, max_attempts: max }: ListedRow): Html {
  return markup`<th scope="row">${task}<small>${shownId(id)}</small></th><td>${tenant ?? "none"}</td><td>${attempts} of ${max}</td>`;
}

const LONGEST_ID = 64;

function shownId(id: string): string {
  return id.length <= LONGEST_ID ? id : `${Array.from(id).slice(0, LONGEST_ID).join("")}…`;
}

function shownOf(rows: readonly unknown[], count: number): string {
  return rows.length < LISTED || count <= rows.length ? "" : `, ${rows.length} of ${count}`;
}

function time(ms: number): Html {
  const moment = new Date(ms);
  // A PostgreSQL timestamp may exceed the range of Date, for example infinity.
  if (Number.isNaN(moment.getTime())) return markup`unknown`;
  const iso = moment.toISOString();
  return markup`<time datetime="${iso}">${iso.slice(0, 19).replace("T", " ")} UTC</time>`;
}

const UNITS: readonly (readonly [number, string])[] = [
  [86_400, "d"],
  [3600, "h"],
  [60, "min"],
];

/** Formats a duration with its two largest units: `2 d 3 h`, `1 min 5 s`, `59 s`. */
function duration(seconds: number): string {
  // In the database's JSON, an infinite number is a string.
  if (!Number.isFinite(seconds)) return "unknown";
  let rest = Math.max(0, Math.floor(seconds));
  const parts: string[] = [];
  for (const [size, unit] of UNITS) {
    if (rest < size && parts.length === 0) continue;
    parts.push(`${Math.floor(rest / size)} ${unit}`);
    rest %= size;
  }
  return [...parts, `${rest} s`].slice(0, 2).join(" ");
}
