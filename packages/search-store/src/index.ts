export type { BulkChunk } from "./bulk/ingest-bulk.ts";
export { MAX_CONTENT_BYTES, MAX_META_BYTES } from "./checks.ts";
export type { Meta, NewChunk } from "./chunk.ts";
export type { Embed } from "./embed.ts";
export type { Vector } from "./embedding.ts";
export { SearchError, type SearchErrorCode } from "./errors.ts";
export { hasVector } from "./extension.ts";
export type { Filter, FilterComparison, FilterValue } from "./filter/parse-filter.ts";
export type { Maintained } from "./index-care/maintain.ts";
export type { Recall, RecallRequest } from "./index-care/recall.ts";
export type { StoreEvent } from "./index-care/report.ts";
export type { TenantIndex } from "./index-care/tenant-index.ts";
export { type Ingested, type IngestOptions, MAX_CHUNKS } from "./ingest.ts";
export type { ListedChunk, ListRequest, Page } from "./list.ts";
export { DEFAULT_TABLE, type SearchStoreOptions, type StoreRowSecurity } from "./options.ts";
export type { Stats } from "./remove.ts";
export type { OpenSpan, SpanAttributes, SpanHook, SpanKind } from "@svc/context";
export type { Migration } from "@svc/sql";
export type { SearchRequest } from "./search/check-request.ts";
export type { Hit } from "./search/search.ts";
export { createSearchStore, type SearchStore } from "./store.ts";
export { chunks, type ChunksOptions } from "./chunks.ts";
export type { TenantSize } from "./index-care/tenant-sizes.ts";
export {
  bindSearch,
  type BindSearchOptions,
  type BoundCall,
  type BoundIngest,
  type BoundRequest,
  type BoundSearch,
  INGEST_TASK,
  type IngestQueue,
  type LaterIngest,
} from "./service/bound-search.ts";
export type { SearchEvent } from "./service/events.ts";
export { ingestHandler } from "./service/ingest-handler.ts";
export { createLazyStore, type LazyStore, type LazyStoreOptions } from "./service/lazy-store.ts";
export { createMaintenance, type Maintenance, type MaintenanceOptions } from "./service/maintenance.ts";
export { searchCheck } from "./service/search-check.ts";
