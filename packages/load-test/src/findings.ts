import { errorKinds, numberText } from "./report-texts.ts";
import type { LoadReport, StepReport } from "./report.ts";

/** CPU share in percent at which the load test itself begins to limit the throughput. */
const LIMITING_CPU = 80;

/**
 * Returns the facts that have no column in the table: why a step broke, its statuses and errors, and checks that are not
 * ok.
 */
export function notesOf(step: StepReport): readonly string[] {
  const { broken, errors, statuses, unsent, generatorCpu, readiness } = step;
  const kinds = errorKinds.filter(({ of }) => errors[of] > 0);
  const others = Object.entries(statuses).filter(([status]) => !status.startsWith("2"));
  return [
    ...broken.map((reason) => `broken: ${reason}`),
    ...(kinds.length === 0
      ? []
      : [`errors: ${kinds.map(({ of, name }) => `${numberText(errors[of])} ${name}`).join(", ")}`]),
    ...(others.length === 0
      ? []
      : [`responses: ${others.map(([status, count]) => `${numberText(count)} with ${status}`).join(", ")}`]),
    ...(unsent === 0
      ? []
      : [`${numberText(unsent)} requests were due but not sent: all clients were waiting`]),
    ...(generatorCpu < LIMITING_CPU
      ? []
      : [`the generator is the limit (${Math.round(generatorCpu)} % of a CPU)`]),
    ...(readiness === null || readiness.failure === null ? [] : [readiness.failure]),
    ...(readiness?.notOk ?? []).map(({ name, detail, isCritical }) => {
      return `not ready: ${name}${isCritical ? " (critical)" : ""}${detail === "" ? "" : `: ${detail}`}`;
    }),
  ];
}

/** Returns the conclusions of a run: break (LOAD-3) and saturation (LOAD-4). */
export function findingsOf(report: LoadReport): readonly string[] {
  const { brokeAt, saturatedAt, isInterrupted, loop, steps } = report;
  const clients = (count: number): string => `${count} ${count === 1 ? "client" : "clients"}`;
  const saturation =
    loop === "open"
      ? "saturation: not judged, because the rate is fixed"
      : saturatedAt === null
        ? `saturation: not reached${steps.length < 2 ? ", because there is only one step" : ""}`
        : `saturation: at ${clients(saturatedAt)}, after which more clients add less than 10 % throughput`;
  return [
    `break: ${brokeAt === null ? "none" : `at ${clients(brokeAt)}`}`,
    saturation,
    ...(isInterrupted ? ["interrupted: the last step is not complete"] : []),
  ];
}
