export { MAX_CONTENT_BYTES, MAX_META_BYTES } from "./checks.ts";
export { SearchError, type SearchErrorCode } from "./errors.ts";
export { hasVector } from "./extension.ts";
export { MAX_CHUNKS } from "./ingest.ts";
export { DEFAULT_TABLE } from "./options.ts";
export { createSearchStore } from "./store.ts";
export type {
  BulkChunk,
  Embed,
  Filter,
  FilterComparison,
  FilterValue,
  Hit,
  IngestOptions,
  Ingested,
  ListedChunk,
  ListRequest,
  Maintained,
  Meta,
  Migration,
  NewChunk,
  Page,
  Recall,
  RecallRequest,
  SearchRequest,
  SearchStore,
  SearchStoreOptions,
  SpanAttributes,
  SpanHook,
  Stats,
  StoreEvent,
  StoreRowSecurity,
  TenantIndex,
  Vector,
} from "./types.ts";
