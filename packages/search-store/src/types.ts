import type { Logger, ReadinessCheck } from "@svc/context";
import type { Database } from "@svc/sql";

/** An embedding: as many finite numbers as the store has dimensions, not all of them zero. */
export type Vector = readonly number[] | Float32Array;

/** The JSON object that is kept beside a chunk. */
export type Meta = Readonly<Record<string, unknown>>;

/**
 * Turns texts into embeddings, one each and in their order. The signal aborts when the caller gave up or the time of
 * {@link SearchStoreOptions.embedTimeoutSeconds} is over; what comes later is dropped.
 */
export type Embed = (
  texts: readonly string[],
  info: { readonly signal: AbortSignal },
) => Promise<readonly Vector[]> | readonly Vector[];

/** Attributes of a span: numbers, flags and short names, never a query or a text. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean>>;

/** Runs one operation inside a span. `set` adds the attributes that are known at its end. */
export type SpanHook = <T>(
  name: "rag.search" | "rag.ingest",
  attributes: SpanAttributes,
  run: (set: (attributes: SpanAttributes) => void) => Promise<T>,
) => Promise<T>;

/** What the care of the indexes did. Indexes are named by a hash: a tenant's own name is in no event. */
export interface StoreEvent {
  readonly type: "index-created" | "index-dropped" | "index-failed";
  readonly index: string;
  /** Chunks of the tenant, where they were counted. */
  readonly chunks?: number | undefined;
  /** How long it took. */
  readonly durationMs?: number | undefined;
  /** What went wrong, safe to show: an SQLSTATE or the code of a system call. */
  readonly error?: string | undefined;
}

/** Where the transaction's tenant is kept when row security is on. */
export interface StoreRowSecurity {
  /** The setting that holds the tenant of a transaction. Default `svc.tenant`. */
  readonly setting?: string | undefined;
  /** The name of the policy. Default `svc_tenant`. */
  readonly policy?: string | undefined;
}

/** A value that a filter compares with. */
export type FilterValue = string | number | boolean | null;

/** How one key of the metadata must be. All of what is given must hold. */
export interface FilterComparison {
  readonly eq?: FilterValue | undefined;
  readonly in?: readonly FilterValue[] | undefined;
  readonly gt?: string | number | undefined;
  readonly gte?: string | number | undefined;
  readonly lt?: string | number | undefined;
  readonly lte?: string | number | undefined;
  readonly exists?: boolean | undefined;
}

/**
 * What the metadata of a chunk must be: every key named here must compare as said, a bare value meaning `eq`. `and`, `or` and
 * `not` take filters; a key of the metadata with such a name is reached by none.
 */
export interface Filter {
  readonly and?: readonly Filter[] | undefined;
  readonly or?: readonly Filter[] | undefined;
  readonly not?: Filter | undefined;
  readonly [key: string]: FilterValue | FilterComparison | Filter | readonly Filter[] | undefined;
}

/** A chunk of a document as it is handed in. */
export interface NewChunk {
  /** The text, not empty, at most 262,144 bytes. */
  readonly content: string;
  /** Default `{}`. */
  readonly meta?: Meta | undefined;
  /** Default: what `embed` answers for the content, or what the same content had before. */
  readonly embedding?: Vector | undefined;
}

/** A chunk of a bulk load. */
export interface BulkChunk extends NewChunk {
  readonly documentId: string;
  /** Its place in the document, from 0. Default: one more than the one before it of the same document, else 0. */
  readonly ordinal?: number | undefined;
}

export interface IngestOptions {
  /** Gives up, also while embeddings are awaited. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/** What an ingest did. */
export interface Ingested {
  /** Chunks that the document has now. */
  readonly chunks: number;
  /** Texts that were embedded; the same text twice counts once. */
  readonly embedded: number;
  /** Chunks that kept the embedding which their content had already. */
  readonly reused: number;
  /** Chunks at the end of the document that are gone. */
  readonly removed: number;
}

export interface ListRequest {
  /** Default: all documents. */
  readonly documentId?: string | undefined;
  /** Default: none. */
  readonly filter?: Filter | undefined;
  /** How many, 1 to 1,000. Default 100. */
  readonly limit?: number | undefined;
  /** The `next` of the page before. Default: the first page. */
  readonly after?: string | undefined;
}

export interface ListedChunk {
  readonly documentId: string;
  readonly ordinal: number;
  readonly content: string;
  readonly meta: Meta;
  readonly createdAt: Date;
}

export interface Page {
  /** By document and ordinal. */
  readonly chunks: readonly ListedChunk[];
  /** What to hand in as `after` for the next page; without it this is the last one. */
  readonly next?: string | undefined;
}

/** The approximate index of a tenant. */
export interface TenantIndex {
  readonly name: string;
  /** False while it is being made, and after that failed. */
  readonly valid: boolean;
  readonly bytes: number;
}

export interface Stats {
  readonly chunks: number;
  readonly documents: number;
  readonly index?: TenantIndex | undefined;
}

export interface SearchRequest {
  /** Searches by meaning. */
  readonly vector?: Vector | undefined;
  /** Searches by words; embedded as well where the store has `embed` and no vector is given. */
  readonly text?: string | undefined;
  /** Default: none. */
  readonly filter?: Filter | undefined;
  /** How many hits, 1 to 100 (SEARCH-4). Default 5. */
  readonly limit?: number | undefined;
  /** How wide an approximate index is searched, 1 to 1,000 (SEARCH-3, SEARCH-4). Default 100. */
  readonly efSearch?: number | undefined;
  /** Least score, -1 to 1; a hit without a score passes none. Default: none. */
  readonly minScore?: number | undefined;
  /** How much meaning and words count in the fusion of ranks, 0 and above. Default 1 each. */
  readonly weights?: { readonly vector?: number | undefined; readonly text?: number | undefined } | undefined;
  /** What is added to a rank before it is inverted. Default 60. */
  readonly rrfK?: number | undefined;
  /** Candidates of each kind that are fused, 1 to 1,000. Default 40, and no less than `limit`. */
  readonly candidates?: number | undefined;
  /** Gives up while the embedding of the text is awaited. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

export interface Hit {
  readonly documentId: string;
  readonly ordinal: number;
  readonly content: string;
  readonly meta: Meta;
  /** 1 - cosine distance (SEARCH-5), in [-1, 1]; null without a vector. */
  readonly score: number | null;
  /** The sum of `weight / (rrfK + rank)` over the two ranks. */
  readonly fusedScore: number;
  /** Place among the nearest by meaning, from 1; null where it was none of the candidates. */
  readonly vectorRank: number | null;
  /** Place among the best by words, from 1; null where it was none of the candidates. */
  readonly textRank: number | null;
}

export interface RecallRequest {
  /** Stored embeddings that are asked for, 1 to 10,000. Default 100. */
  readonly sample?: number | undefined;
  /** Neighbours of each, 1 to 100. Default 10. */
  readonly limit?: number | undefined;
  /** As for a search. Default 100. */
  readonly efSearch?: number | undefined;
}

export interface Recall {
  /** Share of the true neighbours that the live search finds, 0 to 1. */
  readonly recall: number;
  readonly queries: number;
  /** Median of the exact searches. */
  readonly exactMs: number;
  /** Median of the live ones. */
  readonly liveMs: number;
}

export interface Maintained {
  /** Names of the indexes. */
  readonly created: readonly string[];
  readonly dropped: readonly string[];
  readonly kept: readonly string[];
}

/** A step of the schema, for a migration tool. */
export interface Migration {
  /** Sorts after the one before it. */
  readonly name: string;
  /** Statements that do no harm where their part is there already. */
  readonly statements: readonly string[];
}

/** What `createSearchStore` takes. */
export interface SearchStoreOptions {
  /** A pool or client of `pg`, what `openEmbedded()` answers, whatever `@svc/sql` calls a database. It stays the caller's. Required. */
  readonly db: Database;
  /** Numbers of an embedding, 1 to 4,000. Required. */
  readonly dimensions: number;
  /** The table, by name (at most 40 bytes) or `schema.name`. Default `svc_chunks`. */
  readonly table?: string | undefined;
  /** The text search configuration of PostgreSQL by which words are cut, such as `english`. Default `simple`. */
  readonly textConfig?: string | undefined;
  /** Whether embeddings are kept in two bytes a number (`half`) or four (`full`). Default `half`. */
  readonly precision?: "half" | "full" | undefined;
  /** Makes embeddings of texts that come without. Default: none, and every chunk must bring its own. */
  readonly embed?: Embed | undefined;
  /** Names the model behind `embed`: under another name a text is embedded again when it is ingested again. Default: none. */
  readonly embedder?: string | undefined;
  /** Most texts of one call of `embed`, 1 to 2,048. Default 64. */
  readonly embedBatch?: number | undefined;
  /** Seconds that one call of `embed` may take, 0.05 to 3,600. Default 30. */
  readonly embedTimeoutSeconds?: number | undefined;
  /** Keys of the metadata that get an index of their own; their values are texts of at most 500 bytes. Default none. */
  readonly filterKeys?: readonly string[] | undefined;
  /** Chunks from which on `maintainIndexes()` gives a tenant an approximate index. Default 5000. */
  readonly indexAbove?: number | undefined;
  /** Chunks below which it takes the index away again. Default 2500. */
  readonly indexBelow?: number | undefined;
  /** Whether the table gets forced row security, and every statement its tenant as a setting. Default false. */
  readonly rowSecurity?: boolean | StoreRowSecurity | undefined;
  /** Starts a span around a search and an ingest; what it throws changes nothing about them. Default: none. */
  readonly span?: SpanHook | undefined;
  /** Hears of indexes made and dropped. Default: nobody. */
  readonly onEvent?: ((event: StoreEvent) => void) | undefined;
  /** Gets a line for each of these events. Default: none. */
  readonly logger?: Logger | undefined;
}

/** Chunks of documents by tenant; every operation on them is inside one tenant (SEARCH-1, SEARCH-2, SEARCH-6). */
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
  recall(tenant: string, request?: RecallRequest): Promise<Recall>;
  readiness(): ReadinessCheck;
}
