import { setTimeout as sleep } from "node:timers/promises";
import { checkConformance, type ConformanceReport, type Finding, rules } from "@svc/conformance";
import { unlessHeldUp } from "@svc/test-support";
import type { Mutation } from "../mutations.ts";
import { type Base, type BaseName, bases } from "./bases.ts";
import { type Differences, makeServedKeys, startUnderTest } from "./service-under-test.ts";

/**
 * Starts a service, checks it and stops it.
 *
 * @param reaches ids of rules and of families of rules that are looked at. Default: everything there is
 */
export async function judge(
  base: BaseName,
  differences: Differences = {},
  {
    house = true,
    reaches,
  }: { readonly house?: boolean; readonly reaches?: readonly string[] | undefined } = {},
): Promise<ConformanceReport> {
  const { serveKeys, keys }: Base = bases[base];
  if (serveKeys === true && keys !== undefined) await makeServedKeys(keys.algorithm);
  await using tested = await startUnderTest(base, differences);
  return await checkConformance({ ...tested.options, house, only: reaches && within(reaches, base) });
}

/** The checks of some rules that apply to a base. */
function within(reaches: readonly string[], base: BaseName): readonly string[] {
  const isReduced = "profile" in bases[base];
  const families = new Set(reaches);
  return rules
    .filter(({ id, profile }) => {
      const isWithin = families.has(id) || families.has(id.split("-", 1)[0] ?? "");
      return isWithin && (profile === "both" || !isReduced);
    })
    .map(({ id }) => id);
}

export function failures({ findings }: ConformanceReport): readonly Finding[] {
  return findings.filter(({ verdict }) => verdict.status === "fail");
}

/** What a failure says, for the message of a test. */
export function told(findings: readonly Finding[]): readonly string[] {
  return findings.map(({ id, verdict }) => (verdict.status === "fail" ? `${id}: ${verdict.seen}` : id));
}

/** The rules that pass on the sound service and are not judged on the broken one. */
export function lost(sound: ConformanceReport, broken: ConformanceReport): readonly string[] {
  const passed = new Set(
    sound.findings.filter(({ verdict }) => verdict.status === "pass").map(({ id }) => id),
  );
  return broken.findings
    .filter(({ id, verdict }) => verdict.status === "not applicable" && passed.has(id))
    .map(({ id }) => id)
    .toSorted();
}

const most = 40;
const least = 3;
/** Above this share of its time the process is so busy that one more service would keep all others waiting. */
const busy = 0.8;

/** Is broken by a service that is sound and had to wait for the processor: it says how soon a report follows its dependency. */
const punctuality = "RDY-10";

/**
 * Whether a judgement says nothing: punctuality alone is at fault beside what is tested.
 *
 * @param failed ids of the rules that failed
 * @param rule the one that is broken on purpose
 */
export function isInDoubt(failed: readonly string[], rule: string | undefined): boolean {
  const others = failed.filter((id) => id !== rule);
  return others.length > 0 && others.every((id) => id === punctuality);
}

/**
 * Judges anew what is in doubt, with a service made anew, since it may remember what it was asked: what the process was held up in,
 * kit and service alike, says nothing and does not stand, a report that came late is asked for once more.
 */
async function judgeFairly(
  first: Work,
  anew: () => Work,
  tell: (line: string) => void,
): Promise<ConformanceReport> {
  let next: Work | undefined = first;
  const once = (): Promise<ConformanceReport> =>
    unlessHeldUp(
      () => {
        const { base, differences, reaches } = next ?? anew();
        next = undefined;
        return judge(base, differences, { reaches });
      },
      { mostMs: Infinity, tell },
    );
  const report = await once();
  const failed = failures(report);
  const isDoubtful = isInDoubt(
    failed.map(({ id }) => id),
    first.rule,
  );
  if (!isDoubtful) return report;
  process.stderr.write(`      asked once more, late at most: ${told(failed).join("; ")}\n`);
  return once();
}

/** What {@link startAll} runs; a service that breaks no rule has none. */
type Work = Pick<Mutation, "base" | "differences" | "reaches"> & Partial<Pick<Mutation, "rule">>;

/**
 * Runs many services side by side: as many as the processor has time for, since a service that has to wait for its turn
 * answers too late, and that is what some rules are about.
 */
export function startAll(make: () => readonly Work[]): readonly Promise<ConformanceReport>[] {
  const pending = make().map((work, at) => ({
    work,
    anew: () => make()[at] ?? work,
    ...Promise.withResolvers<ConformanceReport>(),
  }));
  void (async () => {
    let running = 0;
    let heldUp = 0;
    let before = performance.eventLoopUtilization();
    for (const { work, anew, resolve, reject } of pending) {
      for (;;) {
        await sleep(40);
        const { utilization } = performance.eventLoopUtilization(before);
        before = performance.eventLoopUtilization();
        if (running < least || (running < most && utilization < busy)) break;
      }
      running++;
      judgeFairly(work, anew, () => heldUp++)
        .then(resolve, reject)
        .finally(() => running--);
    }
    await Promise.allSettled(pending.map(({ promise }) => promise));
    // One line for all of them: what holds the process up holds up whatever runs at that moment.
    if (heldUp > 0)
      process.stderr.write(`      held up, judged anew: ${heldUp} of ${pending.length} services\n`);
  })();
  return pending.map(({ promise }) => promise);
}
