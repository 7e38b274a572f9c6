import { RequestContext, runWithContext } from "@svc/context";
import { createService } from "@svc/express";
import {
  type BulkChunk,
  createSearchStore,
  type Embed,
  type Hit,
  type ListRequest,
  type Page,
  type SearchRequest,
  type SearchStore,
} from "@svc/search-store";
import type { Database } from "@svc/sql";
import { createDraws, DIMENSIONS, type Held } from "./documents.ts";

/** Stores and finds the documents of tenants in one table. */
export interface Searcher extends AsyncDisposable {
  /** Stores all documents. Every second tenant gets an approximate index, so that searches use both kinds of plan. */
  fill(held: readonly Held[]): Promise<void>;
  search(tenant: string, request: SearchRequest): Promise<readonly Hit[]>;
  list(tenant: string, request: ListRequest): Promise<Page>;
  /** Searches another tenant's documents in the context of a tenant; undefined if there is no context. */
  readonly searchOther:
    ((tenant: string, other: string, request: SearchRequest) => Promise<readonly Hit[]>) | undefined;
}

export interface SearcherOptions {
  readonly table: string;
  readonly rowSecurity: boolean;
}

/** The ways to search: with the package alone, or through a service with the plugin. */
export const searchers: Readonly<
  Record<string, (db: Database, options: SearcherOptions) => Promise<Searcher>>
> = { package: openStore, plugin: openService };

async function openStore(db: Database, options: SearcherOptions): Promise<Searcher> {
  const store = createSearchStore({ ...options, db, dimensions: DIMENSIONS, filterKeys: ["owner"] });
  await store.ensureSchema();
  return {
    async fill(held) {
      for (const { tenant, chunks } of held) await store.ingestBulk(tenant, chunks);
      await indexHalf(store, held);
    },
    search: (tenant, request) => store.search(tenant, request),
    list: (tenant, request) => store.list(tenant, request),
    searchOther: undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function indexHalf(store: SearchStore, held: readonly Held[]): Promise<void> {
  for (const [at, { tenant }] of held.entries()) if (at % 2 === 0) await store.ensureTenantIndex(tenant);
}

/** Opens the search of a service, whose tenant comes from the context or, outside a context, from an argument. */
async function openService(db: Database, { table, rowSecurity }: SearcherOptions): Promise<Searcher> {
  const service = await createService({
    config: {
      toml: `
[service]
name = "documents"
env = "local"
port = 0
[logging]
level = "error"
[plugins]
enabled = ["tenancy", "rag"]
[plugin.tenancy]
sources = ["header"]
[plugin.rag]
table = "${table}"
dimensions = ${DIMENSIONS}
filter_keys = ["owner"]
row_security = ${rowSecurity}
maintain_every = 0`,
    },
    env: {},
    signals: false,
    db,
    rag: { embed },
    logDestination: { write: () => undefined },
  });
  await service.start();
  const { search } = service;
  if (search === undefined) throw new Error("the service has no search");
  const store = await search.store();
  const within = <T>(tenantId: string, work: () => Promise<T>): Promise<T> =>
    runWithContext(new RequestContext({ tenantId }), work);
  let calls = 0;
  return {
    async fill(held) {
      for (const { tenant, chunks } of held) await store.ingestBulk(tenant, chunks.filter(isLoaded));
      const ingests = held.map(({ tenant, chunks }) =>
        within(tenant, async () => {
          for (const { documentId, content, meta } of chunks.filter((each, n) => !isLoaded(each, n)))
            await search.ingest(documentId, content, { metadata: meta });
        }),
      );
      await Promise.all(ingests);
      await indexHalf(store, held);
    },
    search(tenant, { filter: where, ...request }) {
      if (calls++ % 2 === 0) return within(tenant, () => search.search({ ...request, where }));
      return search.search({ ...request, where, tenant });
    },
    list: (tenant, request) => store.list(tenant, request),
    searchOther: (tenant, other, { filter: where, ...request }) =>
      within(tenant, () => search.search({ ...request, where, tenant: other })),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

/** Whether a document is loaded in bulk; a service ingests the others one by one. */
function isLoaded(_chunk: BulkChunk, n: number): boolean {
  return n % 20 !== 5;
}

/** Returns random vectors. Equal texts have the same vector. */
const embed: Embed = (texts) =>
  texts.map((text) => {
    const seed = Buffer.from(text).reduce((sum, byte) => (sum * 31 + byte) | 0, 7);
    return createDraws(seed).vector();
  });
