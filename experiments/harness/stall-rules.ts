import { tally } from "./client.ts";
import { quantile, type Report } from "./report.ts";
import { inWords } from "./session-client.ts";
import type { LogLine, Seen, Span, Timed } from "./stalled-service.ts";
import type { Stalls } from "./stall-monitor.ts";

const warnEveryMs = 10_000;
const warning = /^(Redis is not available|the (revocation|token) store is not answering)/;
/** Milliseconds after the start of a fault. Requests sent later count as sent during the fault. */
const feltMs = 200;
/** Milliseconds by which an open breaker may close late. */
const reopenMs = 500;
/** The longest time in milliseconds that a request without a token, which uses no store, may take. */
const openMs = 1000;
/** Milliseconds for which a store repeats a command that got no reply. */
const storeAgainMs = 3000;

/** The times of a fault by `performance.now()`, and the tolerances of the rules. */
export interface Stall {
  /** The time before the fault from which on all requests succeeded. */
  readonly healthyAt: number;
  readonly begunAt: number;
  /** The time just before Redis is resumed or restarted. */
  readonly endingAt: number;
  readonly endedAt: number;
  readonly healedAt: number;
  readonly forgets: boolean;
  readonly knownMs: number;
  readonly commandMs: number;
  readonly windowMs: number;
  /** Milliseconds added to the limits for a busy machine. */
  readonly roomMs: number;
  /** The stalls that the stall monitor observed. */
  readonly stalls: Stalls;
}

/**
 * Checks requests with valid tokens: a service that fails open accepts them, a service that fails closed refuses them
 * immediately, and no client waits twice within a breaker window.
 */
export function judgeAdmission(name: string, seen: Seen, stall: Stall, report: Report): void {
  const { commandMs, windowMs, roomMs, healthyAt, begunAt, endedAt } = stall;
  const clients = seen.clients.map((each) =>
    each.map((one): Waited => ({ ...one, waitedMs: waitedOf(one, seen.open, stall.stalls) })),
  );
  const all = clients.flat();
  const during = all.filter((each) => each.endedAt >= begunAt && each.startedAt <= endedAt);
  const before = all.filter((each) => each.endedAt < begunAt);
  const early = before.filter((each) => each.startedAt <= healthyAt && each.status !== 200);
  const missed = missedBefore(seen, stall);
  const earlyFaults = early
    .map((each) => (seen.failOpen ? inWords(each) : (refusalFault(each) ?? noReason(each, missed, windowMs))))
    .filter((each) => each !== undefined);
  const waits = new Set(during.filter((each) => each.waitedMs > commandMs / 2));
  const longest = Math.max(...during.map((each) => each.waitedMs));
  const ofEach = clients.map((each) => each.filter((one) => waits.has(one)));
  // Earlier waits belong to requests that were in flight when the fault started, or were sent before it could be detected.
  const later = [...waits].filter((each) => each.startedAt > begunAt + commandMs + roomMs);
  const windows = Math.ceil((endedAt - begunAt) / windowMs);
  const sooner = ofEach.flatMap((each) => waitsTooSoon(each, stall));
  report.figure(name, "requests during", during.length, "count");
  report.figure(name, "longest request", Math.max(...during.map((each) => each.ms)), "ms");
  report.figure(name, "longest wait for Redis", longest, "ms");
  report.figure(name, "most waits of one client", Math.max(...ofEach.map((each) => each.length)), "count");
  report.figure(name, "waits after the first timeout", later.length, "count");
  report.figure(name, "answered 503 before", early.length, "count");
  const healthy = before.filter((each) => each.startedAt > healthyAt);
  // On a busy machine a command may miss its deadline before the fault, and a service that fails closed then refuses
  // requests.
  report.rule(
    healthy.length > 0 && healthy.every((each) => each.status === 200) && earlyFaults.length === 0,
    `${name}: no refusals before the fault, except after missed deadlines (${tally(earlyFaults)})`,
  );
  report.rule(
    longest <= commandMs + roomMs,
    `${name}: no request waits longer than ${commandMs + roomMs} ms`,
  );
  report.rule(
    sooner.length === 0,
    `${name}: no client waits twice within a window of the breaker (${sooner.length} did)`,
  );
  report.rule(later.length <= windows + 1, `${name}: at most one request per window waits`);
  const words = during.map(inWords);
  const refused = during.filter((each) => each.status === 503);
  report.figure(name, "answered 503", refused.length, "count");
  if (seen.failOpen) {
    report.rule(
      words.every((each) => each === "200"),
      `${name}: valid tokens are accepted (${tally(words)})`,
    );
  } else {
    const faults = during.filter((each) => each.status !== 200).map(refusalFault);
    const wrong = faults.filter((each) => each !== undefined);
    report.rule(
      wrong.length === 0 && refused.length > during.length / 2,
      `${name}: requests with valid tokens get 503 with Retry-After (${tally(wrong)})`,
    );
  }
  report.rule(seen.lives, `${name}: the process survives (${seen.ending})`);
  report.rule(
    seen.open.length > 0 && seen.open.every((each) => each.status === 200),
    `${name}: requests without a token get 200`,
  );
  // Do not subtract concurrent requests, because these requests serve to compute the waits of others.
  const longestOpen = Math.max(...seen.open.map((each) => waitedOf(each, [], stall.stalls)));
  report.rule(
    longestOpen <= openMs + roomMs,
    `${name}: no request without a token waits longer than ${openMs + roomMs} ms (${Math.round(longestOpen)} ms)`,
  );
  const usualMs = quantile(
    seen.open.map((each) => each.ms),
    0.5,
  );
  report.figure(name, "without a token, median", usualMs, "ms");
}

interface Waited extends Timed {
  readonly waitedMs: number;
}

/**
 * Returns the duration of a request minus the delay that the machine caused: the longest concurrent request that the fault
 * does not affect, or the stalls that the stall monitor observed, whichever is longer.
 */
export function waitedOf(span: Span, others: readonly Span[], stalls: Stalls): number {
  return span.ms - takenFrom(span, others, stalls);
}

function takenFrom(
  { startedAt, endedAt }: Pick<Span, "startedAt" | "endedAt">,
  others: readonly Span[],
  stalls: Stalls,
): number {
  const meanwhile = others.filter((each) => each.startedAt < endedAt && each.endedAt > startedAt);
  return Math.max(stalls.between(startedAt, endedAt), ...meanwhile.map((each) => each.ms));
}

/** Returns the waits of a client that began less than a window after its previous wait ended. */
function waitsTooSoon(waits: readonly Timed[], { windowMs, begunAt, stalls }: Stall): readonly Timed[] {
  return waits.filter((each, n) => {
    const last = waits[n - 1];
    if (last === undefined) return false;
    // A stalled process starts the previous wait late, or notices its end late.
    const lateMs = stalls.between(n === 1 ? begunAt : last.startedAt, last.endedAt);
    return each.startedAt - last.endedAt < windowMs - 150 - lateMs;
  });
}

/** Returns whether requests of all checked kinds were sent during the fault, if it ended at `endingAt`. */
export function isAskedMeanwhile(
  seen: Seen,
  stall: Pick<Stall, "begunAt" | "endingAt" | "knownMs" | "stalls">,
): boolean {
  if (seen.ready.length === 0) return true;
  return (
    [seen.refreshes, seen.logouts].every((each) => each.some((one) => isMeanwhile(one, stall))) &&
    reportsOf(seen, stall).length > 0
  );
}

function isMeanwhile(each: Timed, { begunAt, endingAt }: Pick<Stall, "begunAt" | "endingAt">): boolean {
  return each.startedAt > begunAt + feltMs && each.endedAt < endingAt;
}

/**
 * Returns the responses to `/ready` requests that were sent after the deadline for detecting the fault and after the last
 * reuse of an older report.
 */
function reportsOf(
  { ready, open }: Seen,
  { begunAt, endingAt, knownMs, stalls }: Pick<Stall, "begunAt" | "endingAt" | "knownMs" | "stalls">,
): readonly Timed[] {
  const dueAt = begunAt + knownMs + 1000 + feltMs;
  const knownAt = dueAt + takenFrom({ startedAt: begunAt, endedAt: dueAt }, open, stalls);
  return ready.filter((each) => each.startedAt > knownAt && each.endedAt < endingAt);
}

/** Checks refreshes and sign-outs: they are refused without the store, and can be repeated after a refusal. */
export function judgeSignOut(name: string, seen: Seen, stall: Stall, report: Report): void {
  if (seen.refreshes.length === 0) return;
  for (const [what, outcomes, good] of [
    ["refreshes", seen.refreshes, "200"],
    ["sign-outs", seen.logouts, "204"],
  ] as const) {
    const during = outcomes.filter((each) => isMeanwhile(each, stall));
    const refused = outcomes.filter((each) => each.status === 503);
    const faults = refused.map(refusalFault).filter((each) => each !== undefined);
    const strange = outcomes
      .filter((each, n) => !(what === "sign-outs" && isDone(each, outcomes[n - 1])))
      .map(inWords)
      .filter((each) => each !== good && !each.startsWith("503 "));
    report.figure(name, `${what} answered 503`, refused.length, "count");
    report.figure(name, `${what}, longest wait`, Math.max(...outcomes.map((each) => each.ms)), "ms");
    const longest = Math.max(...outcomes.map((each) => waitedOf(each, seen.open, stall.stalls)));
    // The limit consists of one deadline for the revocation check and the deadlines of the store's command, which is
    // repeated.
    const mostMs = 3 * stall.commandMs + storeAgainMs + stall.roomMs;
    report.rule(longest <= mostMs, `${name}: none of the ${what} waits longer than ${mostMs} ms`);
    report.rule(
      during.length > 0 && during.every((each) => each.status === 503),
      `${name}: ${what} get 503 (${tally(during.map(inWords))})`,
    );
    report.rule(
      faults.length === 0,
      `${name}: each refusal of the ${what} is a problem with Retry-After (${tally(faults)})`,
    );
    report.rule(strange.length === 0, `${name}: refused ${what} can be retried (${tally(strange)})`);
  }
  const healthy = healthyTimes(seen, stall);
  const left = seen.left.filter(healthy);
  report.rule(
    left.some((each) => each.startedAt > stall.healedAt) && left.every((each) => each.status === 401),
    `${name}: before and after the fault, a token is refused after its sign-out (${tally(left.map(inWords))})`,
  );
  if (stall.forgets) return;
  const admitted = seen.revoked.filter((each) => each.status === 200);
  report.figure(name, "revoked tokens accepted meanwhile", admitted.length, "count");
  report.rule(
    seen.revoked.filter(healthy).every((each) => each.status === 401),
    `${name}: a revoked token is refused before and after the fault`,
  );
  if (!seen.failOpen) report.rule(admitted.length === 0, `${name}: a revoked token is never accepted`);
}

/**
 * Returns a filter for requests before and after the fault. It omits requests after a command that missed its deadline
 * because the machine was busy, because the breaker was open then.
 */
function healthyTimes(seen: Seen, stall: Stall): (each: Timed) => boolean {
  const { healthyAt, begunAt, healedAt, commandMs, windowMs, stalls } = stall;
  const isHealthyTime = (each: Span): boolean => each.endedAt < begunAt || each.startedAt > healedAt;
  // A request that takes long without a stall of the machine is a fault of the service.
  const isMachineStall = (each: Span): boolean => waitedOf(each, seen.open, stalls) < commandMs / 2;
  const late = lateOf(seen, stall).filter(
    (each) => isHealthyTime(each) && each.startedAt > healthyAt && isMachineStall(each),
  );
  const upsets = [...late, ...missedBefore(seen, stall)];
  return (each) => isHealthyTime(each) && !upsets.some((one) => isUpset(each, one, windowMs));
}

/** Returns the requests that took long enough to have missed a command deadline. */
function lateOf(
  { setUp, clients, refreshes, logouts, left, revoked, ready }: Seen,
  { commandMs }: Stall,
): readonly Span[] {
  const all = [...setUp, ...clients.flat(), ...refreshes, ...logouts, ...left, ...revoked, ...ready];
  return all.filter((each) => each.ms > 0.9 * commandMs);
}

/** Returns the requests with a missed deadline that started before the service was first free of errors. */
function missedBefore(seen: Seen, stall: Stall): readonly Span[] {
  return lateOf(seen, stall).filter(
    (each) => each.startedAt <= stall.healthyAt && each.endedAt < stall.begunAt,
  );
}

/** Returns whether the breaker may have been open during a request because an earlier request missed its deadline. */
function isUpset(each: Span, late: Span, windowMs: number): boolean {
  return each.endedAt >= late.startedAt && each.startedAt <= late.endedAt + windowMs + reopenMs;
}

function noReason(each: Span, missed: readonly Span[], windowMs: number): string | undefined {
  return missed.some((one) => isUpset(each, one, windowMs))
    ? undefined
    : "503 without an earlier missed deadline";
}

/** Returns whether an earlier sign-out took effect although its response came too late, so that this attempt got 401. */
function isDone({ status }: Timed, before: Timed | undefined): boolean {
  return status === 401 && before?.status === 503;
}

/** Checks `/ready`: the status stays 200 and the body names the degraded checks. */
export function judgeReadiness(name: string, seen: Seen, stall: Stall, report: Report): void {
  if (seen.ready.length === 0) return;
  const { begunAt } = stall;
  const during = reportsOf(seen, stall);
  const degraded = seen.ready.filter((each) => each.endedAt > begunAt && degradedOf(each) !== undefined);
  report.figure(name, "/ready 200, degraded", degraded.length, "count");
  const said = new Set(during.map((each) => degradedOf(each) ?? `${each.status}, not degraded`));
  report.rule(
    seen.ready.every((each) => each.status === 200) &&
      degraded.length > 0 &&
      during.length > 0 &&
      during.every((each) => degradedOf(each) === "auth,cache"),
    `${name}: /ready returns 200 and reports that cache and auth are degraded (${[...said].join("; ") || "no report in time"})`,
  );
}

/** Returns the names of the unhealthy checks in a degraded `/ready` report; undefined for any other response. */
function degradedOf({ status, body }: Timed): string | undefined {
  if (status !== 200) return undefined;
  const { status: word, checks } = JSON.parse(body) as {
    readonly status: string;
    readonly checks: Readonly<Record<string, { readonly healthy: boolean }>>;
  };
  const failing = Object.keys(checks).filter((name) => checks[name]?.healthy === false);
  return word === "degraded" ? failing.toSorted().join() : undefined;
}

/** Checks the log: it contains warnings of the outages, each at most once in ten seconds. */
export function judgeWarnings(name: string, lines: readonly LogLine[], report: Report): void {
  const warnings = lines.filter(({ message }) => warning.test(message));
  let soonest = Number.POSITIVE_INFINITY;
  const last = new Map<string, number>();
  for (const { message, time } of warnings) {
    const at = Date.parse(time);
    soonest = Math.min(soonest, at - (last.get(message) ?? Number.NEGATIVE_INFINITY));
    last.set(message, at);
  }
  report.figure(name, "warnings of the outages", warnings.length, "count");
  report.figure(name, "warnings, each text at most", mostOf(warnings), "count");
  report.note(`${name}, log: ${tally(lines.map((each) => `${each.level} ${each.message}`))}`);
  report.rule(warnings.length > 0, `${name}: the log reports the outages`);
  report.rule(soonest >= warnEveryMs - 50, `${name}: the service logs the same warning at most once in 10 s`);
}

function mostOf(warnings: readonly LogLine[]): number {
  return Math.max(
    0,
    ...warnings.map((each) => warnings.filter((one) => one.message === each.message).length),
  );
}

function refusalFault({ status, headers, error }: Timed): string | undefined {
  if (status !== 503) return error ?? `status ${status}`;
  if (headers["content-type"] !== "application/problem+json") return "503 without a problem document";
  return Number(headers["retry-after"]) >= 1 ? undefined : "503 without Retry-After";
}
