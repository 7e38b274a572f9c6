import type { Database } from "@svc/database";
import type { Service } from "@svc/express";
import { addDemoReceipts } from "../demo-receipts.ts";
import { demoTenants } from "../seed.ts";
import { createSearch, type EmbeddedSearch, type Search } from "./search.ts";

/** Options of {@link serviceSearch}. */
export interface ServiceSearchOptions {
  readonly db: Database;
  readonly prepared: () => Promise<void>;
  readonly options: {
    readonly seed?: boolean | undefined;
    readonly embeddedSearch?: EmbeddedSearch | undefined;
  };
}

/** Creates the search of a service. It closes when the service stops, and contains the demo receipts in a demo. */
export function serviceSearch(
  { log, onStop, telemetry }: Service,
  { db, prepared, options }: ServiceSearchOptions,
): Search {
  const { seed, embeddedSearch } = options;
  const search = createSearch({
    db,
    log,
    embedded: embeddedSearch,
    span: telemetry?.span,
    async fill(store) {
      if (seed !== true) return;
      await prepared();
      let documents = 0;
      for (const tenant of demoTenants) {
        documents += await addDemoReceipts(store, tenant, (work) => db.withTenant(tenant, work));
      }
      if (documents > 0) log.info({ documents }, "demo receipts written");
    },
  });
  onStop("work", () => search.stop());
  return search;
}
