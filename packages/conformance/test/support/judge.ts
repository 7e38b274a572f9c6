import { checkConformance, type ConformanceReport, type Finding } from "@svc/conformance";
import type { Mutation } from "../mutations.ts";
import type { BaseName } from "./bases.ts";
import { type Differences, startUnderTest } from "./service-under-test.ts";

/** Starts a service, checks it by everything there is, and stops it. */
export async function judge(
  base: BaseName,
  differences: Differences = {},
  house = true,
): Promise<ConformanceReport> {
  await using tested = await startUnderTest(base, differences);
  return await checkConformance({ ...tested.options, house });
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

/** Runs many services side by side, so many at a time that none of them has to wait for its turn of the processor. */
export function startAll(
  work: readonly Pick<Mutation, "base" | "differences">[],
): readonly Promise<ConformanceReport>[] {
  const atOnce = 24;
  let free = atOnce;
  const waiting: (() => void)[] = [];
  return work.map(async ({ base, differences }) => {
    if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
    else free--;
    try {
      return await judge(base, differences);
    } finally {
      const next = waiting.shift();
      if (next === undefined) free++;
      else next();
    }
  });
}
