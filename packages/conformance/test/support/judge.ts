import { setTimeout as sleep } from "node:timers/promises";
import { checkConformance, type ConformanceReport, type Finding, rules } from "@svc/conformance";
import type { Mutation } from "../mutations/mutation.ts";
import { type Base, type BaseName, bases } from "./bases.ts";
import { loopClock } from "./loop-clock.ts";
import { type Differences, makeServedKeys, startUnderTest } from "./service-under-test.ts";

/**
 * Starts a service, checks it and stops it.
 *
 * @param reaches ids of rules and rule families to check. Default: all
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
  return await checkConformance(
    { ...tested.options, house, only: reaches && within(reaches, base) },
    { now: loopClock },
  );
}

/** Returns the ids of the given rules and rule families that apply to a base. */
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

/** Formats failures for assertion messages. */
export function messagesOf(findings: readonly Finding[]): readonly string[] {
  return findings.map(({ id, verdict }) => (verdict.status === "fail" ? `${id}: ${verdict.seen}` : id));
}

/** Returns the rules that pass on the sound service and are not checked on the broken one. */
export function unjudgedIn(sound: ConformanceReport, broken: ConformanceReport): readonly string[] {
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
/** Maximum event-loop utilization at which another service starts; above it, that service would delay all others. */
const busy = 0.8;

/** A service for {@link startAll} to check: a mutation, or a sound service. */
type Work = Pick<Mutation, "base" | "differences" | "reaches">;

/**
 * Checks many services, only as many at a time as the CPU can run: a service that waits for the CPU responds late, which
 * some rules forbid.
 */
export function startAll(works: readonly Work[]): readonly Promise<ConformanceReport>[] {
  const pending = works.map((work) => ({ work, ...Promise.withResolvers<ConformanceReport>() }));
  void (async () => {
    let running = 0;
    let before = performance.eventLoopUtilization();
    for (const { work, resolve, reject } of pending) {
      for (;;) {
        await sleep(40);
        const { utilization } = performance.eventLoopUtilization(before);
        before = performance.eventLoopUtilization();
        if (running < least || (running < most && utilization < busy)) break;
      }
      running++;
      judge(work.base, work.differences, { reaches: work.reaches })
        .then(resolve, reject)
        .finally(() => running--);
    }
  })();
  return pending.map(({ promise }) => promise);
}
