import type { ConformanceOptions } from "./options.ts";
import { resolveSettings } from "./resolve-settings.ts";

/** A wait that a run with these options needs regardless of the service. */
interface Wait {
  readonly seconds: number;
  readonly what: string;
}

/** Waits shorter than this many seconds are not announced. */
const unnoticedSeconds = 4;

/** Interval at which OpenTelemetry exporters send a batch by default. */
const exportSeconds = 5;

/**
 * Describes the waits of a run in one sentence; undefined if they are short.
 * @throws InvalidUse for invalid options, like the run itself
 */
export function expectedWaits(options: ConformanceOptions): string | undefined {
  const { probes, limits, profile, serveKeys, serveOtlp, keySetPatienceSeconds } = resolveSettings(options);
  // A run of selected checks may not need all of these waits.
  if (options.only !== undefined) return undefined;
  const { session, dependencies = [] } = probes;
  const sideBySide: Wait[] = [];
  if (session !== undefined && profile === "full") {
    sideBySide.push({
      seconds: session.graceSeconds + 1,
      what: `the window after a refresh (grace_seconds ${session.graceSeconds})`,
    });
  }
  if (probes.slow !== undefined || probes.streaming !== undefined) {
    const seconds = limits.requestTimeoutSeconds;
    sideBySide.push({ seconds, what: `the request timeout (request_timeout_seconds ${seconds})` });
  }
  const afterwards: Wait[] = [];
  if (dependencies.length > 0) {
    afterwards.push({ seconds: dependencies.length * 1.5, what: "the readiness of broken dependencies" });
  }
  if (serveKeys !== undefined) {
    afterwards.push({ seconds: 2 * keySetPatienceSeconds, what: "the service to fetch keys (at most)" });
  }
  if (serveOtlp !== undefined && profile === "full") {
    afterwards.push({ seconds: 3 * exportSeconds, what: "the service to export spans" });
  }
  const longest = Math.max(0, ...sideBySide.map(({ seconds }) => seconds));
  const total = afterwards.reduce((sum, { seconds }) => sum + seconds, longest);
  if (total < unnoticedSeconds) return undefined;
  const all = [...sideBySide, ...afterwards].map(
    ({ seconds, what }) => `${Math.ceil(seconds)} s for ${what}`,
  );
  return `takes about ${Math.ceil(total)} s: ${all.join(", ")}`;
}
