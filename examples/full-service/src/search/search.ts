import type { Database } from "@svc/database";
import type { Service } from "@svc/express";
import { ConfigurationError } from "@svc/options";
import { isProblemError } from "@svc/problem";
import type { BoundSearch } from "@svc/search-store";
import { addDemoReceipts } from "../demo-receipts.ts";
import { onceDone } from "../once-done.ts";
import { demoTenants } from "../seed.ts";

/** The texts of all tenants, which the plugin `rag` stores. */
export interface Search {
  /** Returns the search, which contains the demo receipts in a demo. @throws ProblemError 503 while it cannot be opened */
  opened(): Promise<BoundSearch>;
  /** Opens the search in the background, and logs errors. */
  openSoon(): void;
}

/** Options of {@link serviceSearch}. */
export interface ServiceSearchOptions {
  readonly db: Database;
  readonly prepared: () => Promise<void>;
  /** Whether an empty store gets the demo receipts. */
  readonly seed: boolean;
}

/** @throws ConfigurationError without the plugin `rag` */
export function serviceSearch(
  { search, log }: Service,
  { db, prepared, seed }: ServiceSearchOptions,
): Search {
  if (search === undefined) {
    const fault = { key: "plugins.enabled", message: "must contain rag" };
    throw new ConfigurationError("the expenses service", [fault]);
  }
  const bound = search;
  const filled = onceDone(async () => {
    const store = await bound.store();
    if (!seed) return;
    await prepared();
    let documents = 0;
    for (const tenant of demoTenants) {
      documents += await addDemoReceipts(store, tenant, (work) => db.withTenant(tenant, work));
    }
    if (documents > 0) log.info({ documents }, "demo receipts written");
  });

  async function opened(): Promise<BoundSearch> {
    await filled();
    return bound;
  }

  return {
    opened,
    openSoon() {
      opened().catch((error: unknown) => {
        // The plugin logs why it cannot open the store.
        if (!isProblemError(error)) log.warn({ err: error }, "the search could not be opened yet");
      });
    },
  };
}
