import { inSpan, type ReadinessCheck } from "@svc/context";
import { type Migration, sqlStateOf } from "@svc/sql";
import { command, maintenance } from "./access.ts";
import { type BulkChunk, ingestBulk } from "./bulk/ingest-bulk.ts";
import { checkDocumentId, checkTenant } from "./checks.ts";
import type { NewChunk } from "./chunk.ts";
import { SearchError } from "./errors.ts";
import { largestTenants, type TenantSize } from "./index-care/tenant-sizes.ts";
import { type Maintained, maintainIndexes } from "./index-care/maintain.ts";
import { measureRecall, type Recall, type RecallRequest } from "./index-care/recall.ts";
import { dropTenantIndex, ensureTenantIndex, type TenantIndex } from "./index-care/tenant-index.ts";
import { checkIngestOptions, ingestDocument, type Ingested, type IngestOptions } from "./ingest.ts";
import { listChunks, type ListRequest, type Page } from "./list.ts";
import { type ResolvedOptions, resolveStoreOptions, type SearchStoreOptions } from "./options.ts";
import { createReadiness } from "./readiness.ts";
import { deleteDocument, deleteTenant, type Stats, statsOf } from "./remove.ts";
import { ensureStore, storeMigrations } from "./schema.ts";
import type { SearchRequest } from "./search/check-request.ts";
import { type Hit, searchTenant } from "./search/search.ts";

/** Characters of a document's id that a span shows. */
const MAX_SHOWN_ID = 256;

/** Chunks of documents by tenant; every operation affects one tenant only (SEARCH-1, SEARCH-2, SEARCH-6). */
export interface SearchStore {
  ensureSchema(): Promise<"present" | "created">;
  migrations(): readonly Migration[];
  ingest(
    tenant: string,
    documentId: string,
    chunks: readonly NewChunk[],
    options?: IngestOptions,
  ): Promise<Ingested>;
  ingestBulk(
    tenant: string,
    chunks: AsyncIterable<BulkChunk> | Iterable<BulkChunk>,
    options?: IngestOptions,
  ): Promise<{ readonly chunks: number }>;
  deleteDocument(tenant: string, documentId: string): Promise<number>;
  deleteTenant(tenant: string): Promise<number>;
  list(tenant: string, request?: ListRequest): Promise<Page>;
  stats(tenant: string): Promise<Stats>;
  search(tenant: string, request: SearchRequest): Promise<readonly Hit[]>;
  ensureTenantIndex(tenant: string): Promise<TenantIndex>;
  dropTenantIndex(tenant: string): Promise<boolean>;
  maintainIndexes(): Promise<Maintained>;
  largestTenants(limit: number): Promise<readonly TenantSize[]>;
  recall(tenant: string, request?: RecallRequest): Promise<Recall>;
  readiness(): ReadinessCheck;
}

/**
 * Creates a store for semantic and text search within a tenant. The first argument of every operation is the tenant; without
 * a valid one it rejects with `ERR_SVC_SEARCH_TENANT` (SEARCH-6).
 *
 * @throws ConfigurationError for unknown or invalid options
 */
export function createSearchStore(given: SearchStoreOptions): SearchStore {
  const options = resolveStoreOptions(given);
  const { table, span, recordDocumentIds } = options;

  /** Checks the tenant, and runs an operation with the options of one call. */
  const inTenant = async <T>(
    tenant: string,
    call: ResolvedOptions,
    work: (call: ResolvedOptions) => Promise<T>,
  ): Promise<T> => {
    checkTenant(tenant);
    return explaining(options, () => work(call));
  };
  const short = (operation: string): ResolvedOptions => command(options, operation);
  const long = (operation: string): ResolvedOptions => maintenance(options, operation);

  return {
    ensureSchema: () => ensureStore(options),
    migrations: () => storeMigrations(options),
    ingest: (tenant, documentId, chunks, ingestOptions) =>
      inTenant(tenant, short("ingest()"), async (call) => {
        checkDocumentId(documentId);
        checkIngestOptions(ingestOptions);
        const attributes = { "rag.store": table, ...(recordDocumentIds && shownId(documentId)) };
        return inSpan(span, "rag.ingest", "internal", attributes, async ({ set }) => {
          const done = await ingestDocument(call, tenant, documentId, chunks, ingestOptions);
          set({ "rag.chunks": done.chunks, "rag.embedded": done.embedded, "rag.reused": done.reused });
          return done;
        });
      }),
    ingestBulk: (tenant, chunks, ingestOptions) =>
      inTenant(tenant, long("ingestBulk()"), async (call) => {
        checkIngestOptions(ingestOptions);
        return inSpan(span, "rag.ingest", "internal", { "rag.store": table }, async ({ set }) => {
          const { chunks: count, embedded } = await ingestBulk(call, tenant, chunks, ingestOptions);
          set({ "rag.chunks": count, "rag.embedded": embedded, "rag.reused": 0 });
          return { chunks: count };
        });
      }),
    deleteDocument: (tenant, documentId) =>
      inTenant(tenant, short("deleteDocument()"), async (call) => {
        checkDocumentId(documentId);
        return deleteDocument(call, tenant, documentId);
      }),
    deleteTenant: (tenant) => inTenant(tenant, long("deleteTenant()"), (call) => deleteTenant(call, tenant)),
    list: (tenant, request) => inTenant(tenant, short("list()"), (call) => listChunks(call, tenant, request)),
    stats: (tenant) => inTenant(tenant, short("stats()"), (call) => statsOf(call, tenant)),
    search: (tenant, request) =>
      inTenant(tenant, short("search()"), (call) =>
        inSpan(span, "rag.search", "internal", { "rag.store": table }, async ({ set }) => {
          const { hits, hybrid, filtered, limit } = await searchTenant(call, tenant, request);
          set({
            "rag.limit": limit,
            "rag.hybrid": hybrid,
            "rag.filtered": filtered,
            "rag.hits": hits.length,
          });
          return hits;
        }),
      ),
    ensureTenantIndex: (tenant) =>
      inTenant(tenant, long("ensureTenantIndex()"), (call) => ensureTenantIndex(call, tenant)),
    dropTenantIndex: (tenant) =>
      inTenant(tenant, long("dropTenantIndex()"), (call) => dropTenantIndex(call, tenant)),
    maintainIndexes: () => explaining(options, () => maintainIndexes(long("maintainIndexes()"))),
    largestTenants: (limit) => explaining(options, () => largestTenants(long("largestTenants()"), limit)),
    recall: (tenant, request) =>
      inTenant(tenant, long("recall()"), (call) => measureRecall(call, tenant, request)),
    readiness: () => createReadiness(options),
  };
}

function shownId(documentId: string): { readonly "rag.document_id": string } {
  // An id is well-formed, so a high surrogate at the end is half of a pair that the limit splits.
  const cut = documentId.slice(0, MAX_SHOWN_ID).replace(/[\uD800-\uDBFF]$/, "");
  return { "rag.document_id": cut };
}

async function explaining<T>({ table }: ResolvedOptions, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof SearchError || sqlStateOf(error) !== "42P01") throw error;
    const message = `the table ${table} is missing: call ensureSchema(), or run the statements of migrations()`;
    throw new SearchError("ERR_SVC_SEARCH_SCHEMA", message, { cause: error });
  }
}
