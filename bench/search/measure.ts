import type { Query } from "./generator.ts";
import type { Ask, Found, Side } from "./side.ts";

/** Times of a kind of search, in milliseconds, and what its first pass found. */
export interface Timed {
  readonly side: Side["name"];
  readonly times: readonly number[];
  readonly found: readonly (readonly Found[])[];
}

/**
 * Sends the same queries to both sides, one after the other on one connection each: once so that all is warm, which is not
 * timed, then in rounds, of which every other begins with the other side.
 */
export async function measure(
  sides: readonly Side[],
  queries: readonly Query[],
  ask: Ask,
  efSearch: number,
  rounds: number,
): Promise<readonly Timed[]> {
  const all = sides.map((side) => ({ side, times: [] as number[], found: [] as (readonly Found[])[] }));
  for (const { side, found } of all) {
    await side.widen(efSearch);
    for (const query of queries) found.push(await side.search(query, ask));
  }
  for (let round = 0; round < rounds; round++) {
    for (const { side, times } of round % 2 === 0 ? all : all.toReversed()) {
      await side.widen(efSearch);
      for (const query of queries) {
        const begun = performance.now();
        await side.search(query, ask);
        times.push(performance.now() - begun);
      }
    }
  }
  return all.map(({ side, times, found }) => ({ side: side.name, times, found }));
}

/** The time within which such a share of all searches was answered. */
export function percentile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** Whether a plan walks an approximate index: no other kind is ordered by a distance. */
export function isApproximate(plan: readonly string[]): boolean {
  return plan.some((line) => /^\s*Order By: .*<=>/.test(line));
}

/** What a plan reads, and by what: its other nodes and the numbers of its vectors are left out. */
export function reads(plan: readonly string[]): string[] {
  return plan
    .map((line) => line.replace(/^[\s>-]*/, "").replaceAll(/'\[[^\]]*\]'/g, "'[...]'"))
    .filter((line) => /^(?:[A-Za-z ]*Scan\b|Order By:|Index Cond:|Filter:)/.test(line))
    .filter((line) => !/^(?:Subquery|CTE) Scan/.test(line));
}
