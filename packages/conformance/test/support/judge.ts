import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { checkConformance, type ConformanceReport, type Finding, rules } from "@svc/conformance";
import type { Mutation } from "../mutations.ts";
import { type BaseName, bases } from "./bases.ts";
import { type Differences, startUnderTest } from "./service-under-test.ts";

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
/** So long nothing at all went on in this process, kit and service alike: deadlines passed that nobody has missed. */
const heldUpMs = 250;

/**
 * Asks a second time what failed beside what is tested, where this process was held up meanwhile or punctuality alone is at fault.
 * Any other failure stands, and so does one that comes again.
 */
async function judgeFairly({ base, differences, reaches, rule }: Work): Promise<ConformanceReport> {
  const lateness = monitorEventLoopDelay({ resolution: 20 });
  lateness.enable();
  const report = await judge(base, differences, { reaches });
  lateness.disable();
  const others = failures(report).filter(({ id }) => id !== rule);
  const isHeldUp = lateness.max / 1e6 >= heldUpMs;
  if (others.length === 0 || (!isHeldUp && others.some(({ id }) => id !== punctuality))) return report;
  return judge(base, differences, { reaches });
}

/** What {@link startAll} runs; a service that breaks no rule has none. */
type Work = Pick<Mutation, "base" | "differences" | "reaches"> & Partial<Pick<Mutation, "rule">>;

/**
 * Runs many services side by side: as many as the processor has time for, since a service that has to wait for its turn
 * answers too late, and that is what some rules are about.
 */
export function startAll(work: readonly Work[]): readonly Promise<ConformanceReport>[] {
  const pending = work.map((each) => ({ ...each, ...Promise.withResolvers<ConformanceReport>() }));
  void (async () => {
    let running = 0;
    let before = performance.eventLoopUtilization();
    for (const { resolve, reject, ...each } of pending) {
      for (;;) {
        await sleep(40);
        const { utilization } = performance.eventLoopUtilization(before);
        before = performance.eventLoopUtilization();
        if (running < least || (running < most && utilization < busy)) break;
      }
      running++;
      judgeFairly(each)
        .then(resolve, reject)
        .finally(() => running--);
    }
  })();
  return pending.map(({ promise }) => promise);
}
