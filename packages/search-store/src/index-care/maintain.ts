import { type SearchError, searchError } from "../errors.ts";
import type { ResolvedOptions } from "../options.ts";
import { tenantsOfAtLeast } from "./tenant-sizes.ts";
import { allIndexes, dropNamed, makeTenantIndex, tellPlanner, tenantIndexName } from "./tenant-index.ts";

export interface Maintained {
  /** Names of the created indexes. */
  readonly created: readonly string[];
  readonly dropped: readonly string[];
  readonly kept: readonly string[];
}

/**
 * Counts the chunks of all tenants. Creates the index of a tenant with at least `indexAbove` chunks, and drops the index of
 * a tenant with fewer than `indexBelow`. Rebuilds or drops invalid indexes of interrupted builds. An error for one index
 * does not stop work on the others.
 *
 * @throws SearchError `ERR_SVC_SEARCH_INDEX` at the end if an index could not be created; at the start if row security hides
 *   the tenants
 */
export async function maintainIndexes(options: ResolvedOptions): Promise<Maintained> {
  const { indexAbove, indexBelow } = options;
  // If rows were hidden, every count would be 0 and every index would be dropped.
  const tenants = await tenantsOfAtLeast(options, Math.max(indexBelow, 1));
  const valid = new Map((await allIndexes(options)).map((index) => [index.name, index.valid]));
  const created: string[] = [];
  const dropped: string[] = [];
  const kept: string[] = [];
  const failures: unknown[] = [];
  for (const { tenant, chunks } of tenants) {
    const name = tenantIndexName(options, tenant);
    const has = valid.get(name);
    if (has !== true && chunks < indexAbove) continue;
    valid.delete(name);
    if (has === true) kept.push(name);
    else {
      await makeTenantIndex(options, tenant, chunks).then(
        ({ made }) => (made ? created : kept).push(name),
        (error: unknown) => failures.push(error),
      );
    }
  }
  for (const name of valid.keys()) {
    await dropNamed(options, name).then(
      (was) => was && dropped.push(name),
      (error: unknown) => failures.push(error),
    );
  }
  const [first] = created;
  if (first !== undefined) await tellPlanner(options, first);
  if (failures.length > 0) {
    const done = `${created.length} created, ${dropped.length} dropped, ${kept.length} kept`;
    throw failed(`${failures.length} indexes failed; ${done}`, new AggregateError(failures));
  }
  return { created, dropped, kept };
}

function failed(message: string, cause?: unknown): SearchError {
  return searchError("ERR_SVC_SEARCH_INDEX", message, cause);
}
