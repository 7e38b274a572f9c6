import type { Query } from "./generator.ts";
import type { Ask, Found, Side } from "./side.ts";

/** One kind of search on one of the compared implementations, with the `ef_search` to use. */
export interface Contest {
  readonly side: Side;
  readonly ask: Ask;
  readonly efSearch: number;
}

/** The measurements of such a search: its times in milliseconds, and the hits of the first pass. */
export interface Timed extends Contest {
  readonly times: readonly number[];
  readonly found: readonly (readonly Found[])[];
}

/**
 * Sends the same queries to all sides, one search at a time: first without timing, as the warm-up, then in rounds. Each
 * query goes to all sides before the next one, in reverse order in every second round, so that a disturbance of the machine
 * affects all of them.
 */
export async function measure(
  contests: readonly Contest[],
  queries: readonly Query[],
  rounds: number,
): Promise<readonly Timed[]> {
  const all = contests.map((each) => ({ ...each, times: [] as number[], found: [] as (readonly Found[])[] }));
  for (const { side, ask, efSearch, found } of all) {
    await side.widen(efSearch);
    for (const query of queries) found.push(await side.search(query, ask));
  }
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? all : all.toReversed();
    for (const query of queries) {
      for (const { side, ask, efSearch, times } of order) {
        await side.widen(efSearch);
        const begun = performance.now();
        await side.search(query, ask);
        times.push(performance.now() - begun);
      }
    }
  }
  return all;
}

/** Returns the time within which the given share of all searches ended. */
export function percentile(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? Number.NaN;
}

/** Returns whether a plan uses an approximate index: only such an index scan is ordered by a distance. */
export function isApproximate(plan: readonly string[]): boolean {
  return plan.some((line) => /^\s*Order By: .*<=>/.test(line));
}

/** Returns the nodes of a plan that read tables or indexes, with the numbers of vectors replaced. */
export function reads(plan: readonly string[]): string[] {
  return plan
    .map((line) => line.replace(/^[\s>-]*/, "").replaceAll(/'\[[^\]]*\]'/g, "'[...]'"))
    .filter((line) => /^(?:[A-Za-z ]*Scan\b|Order By:|Index Cond:|Filter:)/.test(line))
    .filter((line) => !/^(?:Subquery|CTE) Scan/.test(line));
}
