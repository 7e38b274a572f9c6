import type { Logger, ReadinessCheck } from "@svc/context";
import { createEmitter, remember, safeLogger } from "@svc/resilience";
import { checkedName, checkState, type ReadinessChange, type ResolvedHealthOptions } from "./options.ts";
import { createProbe, type Probe } from "./probe.ts";
import {
  type ReadinessReport,
  type ReadinessStatus,
  reportOf,
  reportOfState,
  type ServiceState,
} from "./report.ts";

/** A report with its HTTP status and body. */
export interface Answer {
  readonly report: ReadinessReport;
  readonly httpStatus: 200 | 503;
  readonly body: Buffer;
}

function answerOf(report: ReadinessReport): Answer {
  return {
    report,
    httpStatus: report.status === "unavailable" ? 503 : 200,
    body: Buffer.from(JSON.stringify(report)),
  };
}

export type Readiness = ReturnType<typeof createReadiness>;

/** Creates the readiness state of a service, independent of HTTP. */
export function createReadiness(options: ResolvedHealthOptions) {
  const { service, readinessTimeoutSeconds, reuseMs, now } = options;
  const probes: Probe[] = [];
  const names = new Set<string>();
  const outside = {
    starting: answerOf(reportOfState(service, "starting")),
    draining: answerOf(reportOfState(service, "draining")),
  } as const;
  const observe = changeObserver(options);
  let state: ServiceState = "serving";

  const checked = remember(
    reuseMs,
    async () => {
      const reports = await Promise.all(probes.map(async (each) => [each.name, await each.run()] as const));
      const answer = answerOf(reportOf(service, reports));
      if (state === "serving") observe(answer.report, false);
      return answer;
    },
    { now },
  );

  async function whileServing(): Promise<Answer> {
    const answer = await checked();
    // The state may have changed while the checks ran.
    return state === "serving" ? answer : outside[state];
  }

  /**
   * Adds a readiness check.
   * @throws ConfigurationError
   */
  function addCheck(check: ReadinessCheck): void {
    names.add(checkedName(check, names));
    probes.push(createProbe(check, readinessTimeoutSeconds));
  }
  for (const check of options.checks) addCheck(check);

  return {
    /**
     * Returns the current report. Never rejects. Concurrent callers share one run of the checks, and its result is
     * reused for `reuseMs` (RDY-9, RDY-10).
     */
    answer: () => (state === "serving" ? whileServing() : outside[state]),
    addCheck,
    setState(next: ServiceState): void {
      checkState(next);
      // A start that finishes during shutdown must not make the process ready.
      if (state === "draining") return;
      state = next;
      if (next !== "serving") observe(outside[next].report, true);
    },
    get state(): ServiceState {
      return state;
    },
  };
}

/** Reports only changes, because a line for every probe would fill the log. */
function changeObserver({
  logger,
  onChange,
}: ResolvedHealthOptions): (report: ReadinessReport, expected: boolean) => void {
  // A logger error must fail neither a probe nor a shutdown.
  const log = safeLogger(logger);
  const { emit } = createEmitter(onChange, (suppressed, error) =>
    log?.error({ err: error, suppressed }, "onChange of health() threw an error"),
  );
  let last: ReadinessStatus | undefined;
  return function observe(report, expected) {
    const from = last;
    if (report.status === from) return;
    last = report.status;
    // The first status counts as a change only if it is not ok.
    if (from === undefined && report.status === "ok") return;
    const change: ReadinessChange = { from, to: report.status, report };
    if (log !== undefined) logChange(log, change, expected);
    emit(change);
  };
}

function logChange(logger: Logger, { from, to, report }: ReadinessChange, expected: boolean): void {
  const failing = Object.entries(report.checks).filter(([, check]) => !check.healthy);
  const named = failing.map(([name, { detail }]) => `${name} (${detail})`).join(", ");
  const fields = { readiness: to, readiness_before: from, failing: failing.map(([name]) => name) };
  const message = `readiness is ${to}${named === "" ? "" : `: ${named}`}`;
  if (to === "ok" || expected) logger.info(fields, message);
  else if (to === "degraded") logger.warn(fields, message);
  else logger.error(fields, message);
}
