import type { Stall } from "../redis-stall.ts";
import { tally } from "./client.ts";
import type { HeldUp } from "./held-up.ts";
import { quantile, type Report } from "./report.ts";
import { inWords } from "./session-client.ts";
import type { LogLine, Seen, Timed } from "./stalled-service.ts";

const warnEveryMs = 10_000;
const warning = /^(Redis is not available|the (revocation|token) store is not answering)/;
/** What a fault is given to be one. */
const feltMs = 200;
/** What a report of `/ready` is given that is asked for when everybody knows. */
const longMs = 500;

/** Who has a good token is let in without the check, or refused at once; nobody waits twice in a window. */
export function judgeAdmission(name: string, seen: Seen, stall: Stall, report: Report): void {
  const { commandMs, windowMs, roomMs, calmAt, begunAt, endedAt } = stall;
  const clients = seen.clients.map((each) =>
    each.map((one): Waited => ({ ...one, waitedMs: waitedOf(one, seen.open, stall.heldUp) })),
  );
  const all = clients.flat();
  const during = all.filter((each) => each.endedAt >= begunAt && each.startedAt <= endedAt);
  const before = all.filter((each) => each.startedAt > calmAt && each.endedAt < begunAt);
  const waits = new Set(during.filter((each) => each.waitedMs > commandMs / 2));
  const longest = Math.max(...during.map((each) => each.waitedMs));
  const ofEach = clients.map((each) => each.filter((one) => waits.has(one)));
  // The first of them are those that were under way, or came before anybody could know.
  const later = [...waits].filter((each) => each.startedAt > begunAt + commandMs + roomMs);
  const windows = Math.ceil((endedAt - begunAt) / windowMs);
  const sooner = ofEach.flatMap((each) => waitsTooSoon(each, stall));
  report.figure(name, "requests during", during.length, "count");
  report.figure(name, "longest answer", Math.max(...during.map((each) => each.ms)), "ms");
  report.figure(name, "longest wait for Redis", longest, "ms");
  report.figure(name, "waits, most of one client", Math.max(...ofEach.map((each) => each.length)), "count");
  report.figure(name, "waits after the first timeout", later.length, "count");
  report.rule(
    before.length > 0 && before.every((each) => each.status === 200),
    `${name}: all is well before`,
  );
  report.rule(
    longest <= commandMs + roomMs,
    `${name}: no request waits longer than ${commandMs + roomMs} ms`,
  );
  report.rule(
    sooner.length === 0,
    `${name}: no client waits twice within a window of the breaker (${sooner.length} did)`,
  );
  report.rule(later.length <= windows + 1, `${name}: one request of a window waits, and no more`);
  const words = during.map(inWords);
  const refused = during.filter((each) => each.status === 503);
  report.figure(name, "answered 503", refused.length, "count");
  if (seen.failOpen) {
    report.rule(
      words.every((each) => each === "200"),
      `${name}: good tokens are accepted (${tally(words)})`,
    );
  } else {
    const faults = during.filter((each) => each.status !== 200).map(refusalFault);
    const wrong = faults.filter((each) => each !== undefined);
    report.rule(
      wrong.length === 0 && refused.length > during.length / 2,
      `${name}: good tokens are answered 503 with Retry-After (${tally(wrong)})`,
    );
  }
  report.rule(seen.lives, `${name}: the process lives`);
  report.rule(
    seen.open.length > 0 && seen.open.every((each) => each.status === 200),
    `${name}: who needs no token notices nothing`,
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

/** When something began and ended, by `performance.now()`, and how long it took. */
export type Span = Pick<Timed, "ms" | "startedAt" | "endedAt">;

/**
 * How long it took, less what the machine took of it: as much as a request at that time for which the fault does not matter,
 * or, where there was none when everything stood still, as long as we did.
 */
export function waitedOf({ ms, startedAt, endedAt }: Span, others: readonly Span[], heldUp: HeldUp): number {
  const meanwhile = others.filter((each) => each.startedAt < endedAt && each.endedAt > startedAt);
  return ms - Math.max(heldUp.between(startedAt, endedAt), ...meanwhile.map((each) => each.ms));
}

/** Waits that began less than a window after another one of the same client. */
function waitsTooSoon(waits: readonly Timed[], { windowMs, begunAt, heldUp }: Stall): readonly Timed[] {
  return waits.filter((each, n) => {
    const last = waits[n - 1];
    if (last === undefined) return false;
    // Who stood still has begun the first one late, or has seen its end late.
    const lateMs = heldUp.between(n === 1 ? begunAt : last.startedAt, last.endedAt);
    return each.startedAt - last.endedAt < windowMs - 150 - lateMs;
  });
}

/** Whether everything that is judged was asked while the fault lasted; `endingAt` is now. */
export function isAskedMeanwhile(
  { refreshes, logouts, ready }: Seen,
  stall: Pick<Stall, "begunAt" | "endingAt" | "commandMs">,
): boolean {
  if (ready.length === 0) return true;
  const isLate = stall.endingAt - knownAt(stall) > longMs;
  return (
    [refreshes, logouts].every((each) => each.some((one) => isMeanwhile(one, stall))) &&
    (!isLate || ready.some((each) => each.startedAt > knownAt(stall)))
  );
}

function isMeanwhile(each: Timed, { begunAt, endingAt }: Pick<Stall, "begunAt" | "endingAt">): boolean {
  return each.startedAt > begunAt + feltMs && each.endedAt < endingAt;
}

/** A report that was begun before anybody knew waits for its own command, and is an answer for one more second. */
function knownAt({ begunAt, commandMs }: Pick<Stall, "begunAt" | "commandMs">): number {
  return begunAt + 2 * commandMs + 1000 + feltMs;
}

/** Nothing is rotated and nobody signed out without the store, and nothing is lost by trying. */
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
    report.rule(
      during.length > 0 && during.every((each) => each.status === 503),
      `${name}: ${what} are answered 503 (${tally(during.map(inWords))})`,
    );
    report.rule(faults.length === 0, `${name}: each of them a problem with Retry-After (${tally(faults)})`);
    report.rule(
      strange.length === 0,
      `${name}: ${what} that were refused can be tried again (${tally(strange)})`,
    );
  }
  const calm = calmTimes(seen, stall);
  const left = seen.left.filter(calm);
  report.rule(
    left.some((each) => each.startedAt > stall.healedAt) && left.every((each) => each.status === 401),
    `${name}: who signs out before or after is refused (${tally(left.map(inWords))})`,
  );
  if (stall.forgets) return;
  const admitted = seen.revoked.filter((each) => each.status === 200);
  report.figure(name, "revoked tokens accepted meanwhile", admitted.length, "count");
  report.rule(
    seen.revoked.filter(calm).every((each) => each.status === 401),
    `${name}: a revoked token is refused before and after`,
  );
  if (!seen.failOpen) report.rule(admitted.length === 0, `${name}: a revoked token is never accepted`);
}

/**
 * Before the fault and after it, but for the times when the machine was so busy that a command has missed its deadline all the
 * same, and the breaker was open.
 */
function calmTimes(
  { clients, refreshes, logouts, left, revoked, open }: Seen,
  { calmAt, begunAt, healedAt, commandMs, windowMs, heldUp }: Stall,
): (each: Timed) => boolean {
  const isCalm = (each: Timed): boolean =>
    (each.startedAt > calmAt && each.endedAt < begunAt) || each.startedAt > healedAt;
  const all = [...clients.flat(), ...refreshes, ...logouts, ...left, ...revoked];
  // What the machine did not hold up is no excuse.
  const isHeldUp = (each: Timed): boolean => waitedOf(each, open, heldUp) < commandMs / 2;
  const upsets = all.filter((each) => isCalm(each) && each.ms > 0.9 * commandMs && isHeldUp(each));
  return (each) =>
    isCalm(each) &&
    upsets.every((one) => each.endedAt < one.startedAt || each.startedAt > one.endedAt + windowMs + longMs);
}

/** A sign-out whose answer came too late has happened all the same, as the next try finds. */
function isDone({ status }: Timed, before: Timed | undefined): boolean {
  return status === 401 && before?.status === 503;
}

/** `/ready` stays 200, and says what is wrong. */
export function judgeReadiness(name: string, seen: Seen, stall: Stall, report: Report): void {
  if (seen.ready.length === 0) return;
  const { begunAt, endingAt } = stall;
  const during = seen.ready.filter((each) => each.startedAt > knownAt(stall) && each.endedAt < endingAt);
  const degraded = seen.ready.filter((each) => each.endedAt > begunAt && degradedOf(each) !== undefined);
  report.figure(name, "/ready 200, degraded", degraded.length, "count");
  const isLong = endingAt - knownAt(stall) > longMs;
  const said = new Set(during.map((each) => degradedOf(each) ?? `${each.status}, not degraded`));
  report.rule(
    seen.ready.every((each) => each.status === 200) &&
      degraded.length > 0 &&
      (during.length > 0 || !isLong) &&
      during.every((each) => degradedOf(each) === "auth,cache"),
    `${name}: /ready answers 200 and says that cache and auth are degraded (${[...said].join("; ") || "nobody asked later"})`,
  );
}

/** Which checks a report says are not healthy; undefined for a report that is not of that kind. */
function degradedOf({ status, body }: Timed): string | undefined {
  if (status !== 200) return undefined;
  const { status: word, checks } = JSON.parse(body) as {
    readonly status: string;
    readonly checks: Readonly<Record<string, { readonly healthy: boolean }>>;
  };
  const failing = Object.keys(checks).filter((name) => checks[name]?.healthy === false);
  return word === "degraded" ? failing.toSorted().join() : undefined;
}

/** Whoever warns of an outage does so once in ten seconds, however often it comes back. */
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
  report.rule(warnings.length > 0, `${name}: the log tells of it`);
  report.rule(soonest >= warnEveryMs - 50, `${name}: it warns once in 10 s of the same`);
}

function mostOf(warnings: readonly LogLine[]): number {
  return Math.max(
    0,
    ...warnings.map((each) => warnings.filter((one) => one.message === each.message).length),
  );
}

function refusalFault({ status, headers, error }: Timed): string | undefined {
  if (status !== 503) return error ?? `status ${status}`;
  if (headers["content-type"] !== "application/problem+json") return "503 that is no problem";
  return Number(headers["retry-after"]) >= 1 ? undefined : "503 without Retry-After";
}
