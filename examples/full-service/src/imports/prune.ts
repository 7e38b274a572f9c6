import type { Database } from "@svc/database";
import type { JobHandler } from "@svc/job-table";
import { currentContext } from "@svc/context";
import { importingTenants, pruneImports } from "./store.ts";

export const pruneTask = "imports.prune";

/** How long an import that is done can be asked for. */
const keepDays = 30;

/** What {@link pruneJob} stands on. */
export interface PruneJobOptions {
  readonly db: Database;
  readonly prepared: () => Promise<void>;
}

/** Forgets old imports, tenant after tenant: nobody sees those of all at once. Doing it twice does no harm. */
export function pruneJob({ db, prepared }: PruneJobOptions): JobHandler {
  return async (_payload, { signal }) => {
    await prepared();
    let pruned = 0;
    for (const tenant of await importingTenants(db)) {
      signal.throwIfAborted();
      pruned += await db.withTenant(tenant, (tx) => pruneImports(tx, keepDays));
    }
    currentContext()?.log?.info({ pruned }, "old imports forgotten");
  };
}
