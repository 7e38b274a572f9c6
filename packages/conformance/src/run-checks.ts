import type { Check } from "./check.ts";
import type { Finding, Verdict } from "./conformance-report.ts";
import { NoAnswer } from "./answer.ts";
import type { Kit } from "./kit.ts";
import { missing, nameOf } from "./needs.ts";
import { ruleOf, rules } from "./rules.ts";
import { createCensor } from "./secrets.ts";
import { short } from "./show.ts";
import { fail, notApplicable, ruledOut } from "./verdict.ts";

/** Runs the checks concurrently, then runs those that change the service one by one. */
export async function runChecks(kit: Kit, checks: readonly Check[]): Promise<readonly Finding[]> {
  const { totalSeconds, concurrency } = kit.settings;
  const deadline = performance.now() + totalSeconds * 1000;
  const findings = new Map<Check, Finding>();
  const censor = createCensor(kit.settings);

  async function run(check: Check): Promise<void> {
    const startedAt = performance.now();
    const verdict = printable(await judge(kit, check, deadline), censor);
    const { id, title, text, section, source } = ruleOf(check.rule);
    const durationMs = performance.now() - startedAt;
    findings.set(check, { id, title, text, section, source, verdict, durationMs });
  }

  const waiting = checks.filter(({ alone }) => alone !== true);
  async function work(): Promise<void> {
    for (let check = waiting.shift(); check !== undefined; check = waiting.shift()) await run(check);
  }
  await Promise.all(Array.from({ length: concurrency }, work));
  for (const check of checks) if (check.alone === true) await run(check);
  const order = new Map(rules.map(({ id }, index) => [id, index]));
  return [...findings.values()].toSorted((a, b) => (order.get(a.id) ?? 0) - (order.get(b.id) ?? 0));
}

/** Returns the verdict for a check whose preconditions are not met; undefined if they are met. */
function unmetNeeds(kit: Kit, { needs = [] }: Check): Verdict | undefined {
  const unmet = needs.flatMap((need) => {
    const reason = missing(kit, need);
    return reason === undefined ? [] : [{ reason, name: nameOf(need) }];
  });
  const ofProfile = unmet.find(({ name }) => name === undefined);
  if (ofProfile !== undefined) return ruledOut(ofProfile.reason);
  return (
    unmet[0] &&
    notApplicable(
      unmet[0].reason,
      unmet.flatMap(({ name = [] }) => name),
    )
  );
}

async function judge(kit: Kit, check: Check, deadline: number): Promise<Verdict> {
  const unmet = unmetNeeds(kit, check);
  if (unmet !== undefined) return unmet;
  const { checkSeconds, requestSeconds, keySetPatienceSeconds, probes } = kit.settings;
  const graceSeconds = probes.session?.graceSeconds ?? 0;
  const seconds = Math.max(
    checkSeconds,
    check.patient === true ? keySetPatienceSeconds + 2 * requestSeconds : 0,
    // The check retries twice if its second request misses the window.
    check.windowed === true ? 4 * graceSeconds + 2 * requestSeconds : 0,
  );
  const leftMs = Math.min(seconds * 1000, deadline - performance.now());
  if (leftMs <= 0)
    return fail("the run exceeded its time limit (totalSeconds)", "a result within the time limit");
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Verdict>((resolve) => {
    timer = setTimeout(() => {
      resolve(fail(`no result within ${Math.round(leftMs / 1000)} s`, "a result within the time limit"));
    }, leftMs);
  });
  try {
    return await Promise.race([check.run(kit), late]);
  } catch (error) {
    if (error instanceof NoAnswer) return fail(error.message, "a response");
    return fail(`the check threw an error: ${short(String(error))}`, "a result");
  } finally {
    clearTimeout(timer);
  }
}

/** Removes secrets and control characters from a verdict, because a verdict quotes the service. */
function printable(verdict: Verdict, censor: (text: string) => string): Verdict {
  // Censor before shortening: a truncated string could end within a secret.
  const clean = (text: string): string => short(censor(text), longest);
  switch (verdict.status) {
    case "pass":
      return verdict;
    case "fail":
      return fail(clean(verdict.seen), clean(verdict.expected));
    default:
      return { ...verdict, reason: clean(verdict.reason) };
  }
}

const longest = 600;
