import type { Database } from "@svc/database";
import type { JobHandler } from "@svc/job-table";
import { currentContext } from "@svc/context";
import { importingTenants, pruneImports } from "./store.ts";

export const pruneTask = "imports.prune";

/** Number of days after which a finished import is deleted. */
const keepDays = 30;

/** Options of {@link pruneJob}. */
export interface PruneJobOptions {
  readonly db: Database;
  readonly prepared: () => Promise<void>;
}

/**
 * Returns the job that deletes old imports, tenant by tenant, because no database login sees the imports of all
 * tenants. The job is idempotent.
 */
export function pruneJob({ db, prepared }: PruneJobOptions): JobHandler {
  return async (_payload, { signal }) => {
    await prepared();
    let pruned = 0;
    for (const tenant of await importingTenants(db)) {
      signal.throwIfAborted();
      pruned += await db.withTenant(tenant, (tx) => pruneImports(tx, keepDays));
    }
    currentContext()?.log?.info({ pruned }, "old imports deleted");
  };
}
