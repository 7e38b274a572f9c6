import { isObject, type JsonObject, NoAnswer, orReason } from "../answer.ts";
import type { HttpClient } from "../http-client.ts";
import { type Kit, until } from "../kit.ts";
import { checksOf } from "./readiness.ts";

/** The details with which `/ready` reports the three states of the export (TRACE-23). */
const states = {
  off: /\bnot exporting\b/,
  exporting: /\bexporting to \S/,
  failing: /\bspan export failing; spans are being dropped\b/,
} as const;

type State = keyof typeof states;

/** The report of `/ready` about the export of spans. */
export interface ExportState {
  /** The reported state; undefined if no check has one of the three details. */
  readonly state: State | undefined;
  /** The result of the check with the detail, or of the check `telemetry`. */
  readonly result: JsonObject | undefined;
  readonly detail: string;
  /** The status of `/ready`. */
  readonly status: number;
}

export async function exportState(kit: Kit, at: HttpClient = kit.http): Promise<ExportState> {
  const answer = await at.send({ path: "/ready" });
  const results = checksOf(answer);
  const found = Object.values(results).find((each) => stateOf(each) !== undefined) ?? results["telemetry"];
  const result = isObject(found) ? found : undefined;
  return { state: stateOf(found), result, detail: String(result?.["detail"]), status: answer.status };
}

function stateOf(result: unknown): State | undefined {
  const detail = isObject(result) ? String(result["detail"]) : "";
  return (Object.keys(states) as State[]).find((state) => states[state].test(detail));
}

/** Requests `/ready` until it reports this state, for at most the given time. Returns the last report. */
export function untilState(kit: Kit, state: State, forMs: number): Promise<ExportState> {
  return until(
    () => exportState(kit),
    (seen) => seen.state === state,
    { forMs, everyMs: 250 },
  );
}

/** Returns whether the service exports spans, to the kit or elsewhere. */
export async function exportsSpans(kit: Kit): Promise<boolean> {
  if (!kit.has("telemetry") || kit.otlp !== undefined) return kit.has("telemetry");
  return (await exportState(kit)).state !== "off";
}

/**
 * Returns the client for a replica that exports no spans: the service itself, else the second replica if its `/ready` says
 * that it is not exporting. Undefined if there is none.
 */
export async function withoutExport(kit: Kit): Promise<HttpClient | undefined> {
  if (!(await exportsSpans(kit))) return kit.http;
  if (kit.replica === undefined) return undefined;
  // Without this report, the rules about a service that exports nothing might not apply to the replica.
  const report = await orReason(exportState(kit, kit.replica));
  return report instanceof NoAnswer || report.state !== "off" ? undefined : kit.replica;
}

/** Returns the end of a message about a replica: an empty string for the service itself. */
export function whereOf(kit: Kit, at: HttpClient): string {
  return at === kit.replica ? " at the second replica" : "";
}
