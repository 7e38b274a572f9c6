import { tally } from "../harness/client.ts";
import type { Report } from "../harness/report.ts";
import type { FaultRound, HealthyRound } from "./round.ts";
import { BATCH, type Latency, MOST_QUEUED, QUEUE } from "./rules.ts";
import type { Stop, SuddenExit } from "./stops.ts";
import type { Row } from "./table.ts";
import { EXIT_CODE } from "./traced-service.ts";

/** Permitted spread of the request numbers of the spans in a full queue, because some requests have no span. */
const NUMBER_ROOM = 100;
const EXIT_WITHIN_MS = 1000;

type Judge = (held: boolean, text: string) => void;

/** Returns `judge`, which records a rule of one case, and `isHeld`, which returns whether all rules held. */
function judgeOf(name: string, report: Report): { readonly judge: Judge; readonly isHeld: () => boolean } {
  let isHeld = true;
  return {
    judge(held, text) {
      isHeld &&= held;
      report.rule(held, `${name}: ${text}`);
    },
    isHeld: () => isHeld,
  };
}

/** @param limits undefined if latencies are not checked */
export function judgeRound(
  round: FaultRound,
  before: HealthyRound,
  after: HealthyRound,
  limits: Latency | undefined,
  report: Report,
): Row {
  const { fault, latency, counts, mostQueued, states } = round;
  const { name } = fault;
  const { spans, exported, dropped, failedBatches } = counts;
  const { judge, isHeld } = judgeOf(name, report);
  for (const [when, each] of [
    ["before", before.latency],
    ["during", latency],
    ["after", after.latency],
  ] as const) {
    report.figure(name, `p50 ${when} the fault`, each.p50, "ms");
    report.figure(name, `p99 ${when} the fault`, each.p99, "ms");
  }
  report.figure(name, "spans", spans, "count");
  report.figure(name, "spans exported", exported, "count");
  report.figure(name, "spans dropped", dropped, "count");
  report.figure(name, "most spans queued", mostQueued, "count");
  report.figure(name, "failed batches", failedBatches, "count");
  report.figure(name, "failed batches after the fault", round.failedAfter, "count");

  const wrong = [...before.faults, ...round.faults, ...after.faults];
  judge(wrong.length === 0, `every request gets its expected response (${tally(wrong)})`);
  if (limits !== undefined) {
    judge(latency.p50 <= limits.p50, `p50 is at most ${limits.p50.toFixed(2)} ms`);
    judge(latency.p99 <= limits.p99, `p99 is at most ${limits.p99.toFixed(2)} ms`);
  }
  judge(mostQueued <= MOST_QUEUED, `at most ${MOST_QUEUED} spans are queued (${mostQueued})`);
  judge(
    exported + dropped === spans,
    `/ready counts every span as exported or dropped (${exported + dropped} of ${spans})`,
  );
  judge(round.unready.length === 0, `/ready returns 200 (${tally(round.unready)})`);
  const expected = fault.fails ? ["exporting", "failing"] : ["exporting"];
  judge(
    states.every((each) => expected.includes(each)) && states.includes(expected.at(-1) ?? ""),
    `/ready reports that the service is ${expected.at(-1)} (${states.join(", ")})`,
  );
  judge(
    round.isHealed && round.failedAfter <= 1,
    `the first or second batch after the fault succeeds (${round.failedAfter} failed)`,
  );
  judgeAccepted(round, judge);
  return {
    fault: name,
    rounds: 1,
    requests: counts.requests,
    latency,
    exported,
    dropped,
    failedBatches,
    states,
    isHeld: isHeld(),
  };
}

function judgeAccepted({ fault, counts, accepted, latest }: FaultRound, judge: Judge): void {
  const { exported, dropped, failedBatches } = counts;
  judge(
    fault.acceptsFailed ? accepted.spans >= exported : accepted.spans === exported,
    `the collector has the exported spans (${accepted.spans} of ${exported})`,
  );
  judge(accepted.repeated === 0, `it has none of them twice (${accepted.repeated})`);
  judge(
    accepted.faults.length === 0,
    `its requests are valid (${accepted.faults.join("; ") || "none invalid"})`,
  );
  if (fault.burst === 0) return;
  const overflowed = dropped - failedBatches * BATCH;
  judge(overflowed > 0, `the full queue drops spans (${overflowed})`);
  judge(
    accepted.lowest >= latest - QUEUE - NUMBER_ROOM,
    `the full queue keeps the newest spans (from request ${accepted.lowest} of ${latest})`,
  );
}

/** @param mostMs maximum duration of the stop in milliseconds */
export function judgeStop(stop: Stop, mostMs: number, report: Report): Row {
  const { name, requests, spans, exported, dropped, failedBatches, code, ms } = stop;
  const { judge, isHeld } = judgeOf(name, report);
  report.figure(name, "spans", spans, "count");
  report.figure(name, "spans exported", exported, "count");
  report.figure(name, "spans dropped", dropped, "count");
  report.figure(name, "duration of the stop", ms, "ms");
  judge(stop.faults.length === 0, `every request gets its expected response (${tally(stop.faults)})`);
  judge(ms <= mostMs, `the stop takes at most ${mostMs} ms (${Math.round(ms)} ms)`);
  judge(code === 0, `the stop ends with 0 (${code})`);
  judge(
    exported + dropped === spans,
    `every span is exported or dropped after the stop (${exported + dropped} of ${spans})`,
  );
  return {
    fault: name,
    rounds: 1,
    requests,
    latency: undefined,
    exported,
    dropped,
    failedBatches,
    states: [],
    isHeld: isHeld(),
  };
}

export function judgeExit(exit: SuddenExit, report: Report): Row {
  const name = "process.exit()";
  const { judge, isHeld } = judgeOf(name, report);
  report.figure(name, "time to exit", exit.ms, "ms");
  judge(exit.response === "ECONNRESET", `the request is cut off (${exit.response})`);
  judge(
    exit.code === EXIT_CODE && exit.ms <= EXIT_WITHIN_MS,
    `the process exits with ${EXIT_CODE} within ${EXIT_WITHIN_MS} ms (${exit.code}, ${Math.round(exit.ms)} ms)`,
  );
  return {
    fault: name,
    rounds: 1,
    requests: exit.requests,
    latency: undefined,
    exported: undefined,
    dropped: undefined,
    failedBatches: undefined,
    states: [],
    isHeld: isHeld(),
  };
}
