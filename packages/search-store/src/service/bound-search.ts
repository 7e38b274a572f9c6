import { currentContext } from "@svc/context";
import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";
import { createEmitter } from "@svc/resilience";
import type { Queryable } from "@svc/sql";
import { checkContent, checkDocumentId, checkMembers, checkTenant } from "../checks.ts";
import { type Meta, metaText, type NewChunk } from "../chunk.ts";
import { chunks } from "../chunks.ts";
import { refused, SearchError } from "../errors.ts";
import type { Filter } from "../filter/parse-filter.ts";
import { checkCount, type Ingested } from "../ingest.ts";
import type { Stats } from "../remove.ts";
import { REQUEST_MEMBERS, type SearchRequest } from "../search/check-request.ts";
import type { Hit } from "../search/search.ts";
import type { SearchStore } from "../store.ts";
import { tableOptions } from "../table-options.ts";
import { answering } from "./answering.ts";
import { boundOptions } from "./bound-options.ts";
import type { SearchEvent } from "./events.ts";

/** The member of a job table that {@link bindSearch} uses. */
export interface IngestQueue {
  enqueue(
    job: { readonly task: string; readonly payload: unknown; readonly tenantId: string },
    options?: { readonly tx?: Queryable | undefined },
  ): Promise<{ readonly id: string; readonly enqueued: boolean }>;
}

const bindOptions = defineOptions("bindSearch()", {
  /** Returns the store; called for every operation. Required. */
  store: { kind: k.func<() => SearchStore | Promise<SearchStore>>() },
  ...boundOptions.keys,
  /** The store's `filterKeys`, whose values `ingestLater()` checks. Default: none. */
  filterKeys: tableOptions.keys.filterKeys,
  /** Job table for `ingestLater()`; a worker handles its jobs with `ingestHandler()`. Default: none. */
  queue: { kind: k.optional(k.objectWith<IngestQueue>("a job table", "enqueue")) },
  /** Receives the outcome of every search and ingest, for metrics. Default: none. */
  onEvent: { kind: k.optional(k.func<(event: SearchEvent) => void>()) },
}).withCheck((options, name) => boundOptions.faultsOf(options, name));

/** Options of {@link bindSearch}. */
export type BindSearchOptions = OptionsOf<typeof bindOptions>;

/** Options of each call of a {@link BoundSearch}. */
export interface BoundCall {
  /** The tenant, outside a tenant's request or job. Inside one it must be the same tenant. Default: the current one. */
  readonly tenant?: string | undefined;
}

/** Options of `ingest()`. */
export interface BoundIngest extends BoundCall {
  /** Metadata of each chunk; the members of a chunk's own `meta` take precedence. Default: `{}`. */
  readonly metadata?: Meta | undefined;
  /** Cancels the ingest, even while it waits for embeddings. Default: none. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of `ingestLater()`. */
export interface LaterIngest extends BoundCall {
  /** Metadata of each chunk. Default: `{}`. */
  readonly metadata?: Meta | undefined;
  /** The caller's transaction, in which the job is queued. Default: the database of the queue. */
  readonly tx?: Queryable | undefined;
}

/** A search request of a store, except that `where` contains the condition on the metadata. */
export interface BoundRequest extends Omit<SearchRequest, "filter">, BoundCall {
  /** Condition on the metadata. Default: none. */
  readonly where?: Filter | undefined;
}

/** The documents of one tenant, which is the tenant of the current request or job. */
export interface BoundSearch {
  /**
   * Replaces the chunks of a document; a text is split by `chunks()`.
   *
   * @throws ProblemError 503 without the embedder or the database
   */
  ingest(document: string, content: string | readonly NewChunk[], options?: BoundIngest): Promise<Ingested>;
  /**
   * Queues a job that ingests a text. Rejects a text or metadata that the job could not store.
   *
   * @throws SearchError `ERR_SVC_SEARCH_ARGUMENT`; `ERR_SVC_SEARCH_QUEUE` without a queue
   */
  ingestLater(
    document: string,
    text: string,
    options?: LaterIngest,
  ): Promise<{ readonly id: string; readonly enqueued: boolean }>;
  /** Returns the hits, best first. @throws ProblemError 503 without the embedder or the database */
  search(request: BoundRequest): Promise<readonly Hit[]>;
  /** Deletes a document; returns its number of chunks. */
  deleteDocument(document: string, options?: BoundCall): Promise<number>;
  stats(options?: BoundCall): Promise<Stats>;
  /** Splits a text into chunks, with the chunk size and overlap of this service. */
  split(text: string): string[];
  /** Returns whether to queue a text with this number of chunks: there is a queue, and the number exceeds `inlineChunks`. */
  isLarge(chunkCount: number): boolean;
  /** Returns the store itself, whose calls each take the tenant. */
  store(): Promise<SearchStore>;
}

/** Task of the jobs that `ingestLater()` queues. */
export const INGEST_TASK = "rag:ingest";
const CALL = ["tenant"];
const SEARCH_MEMBERS = [...REQUEST_MEMBERS.filter((each) => each !== "filter"), "where", ...CALL];

/**
 * Binds a store to the tenant of the current request or job, which `currentContext()` of `@svc/context` holds. Outside a
 * request or job, a call must pass its tenant unless the option `tenant` is set; otherwise it throws `ERR_SVC_SEARCH_TENANT`
 * (SEARCH-6).
 *
 * @throws ConfigurationError
 */
export function bindSearch(given: BindSearchOptions): BoundSearch {
  const {
    store,
    efSearch,
    filterKeys,
    inlineChunks,
    queue,
    onEvent,
    tenant: fixed,
    ...rest
  } = bindOptions.resolve(given);
  // A listener that throws must not fail an operation that has succeeded.
  const { emit } = createEmitter(onEvent, () => undefined);
  const splitting = { size: rest.chunkSize, overlap: rest.chunkOverlap };

  function tenantOf({ tenant }: BoundCall = {}): string {
    const current = currentContext()?.tenantId || fixed;
    if (tenant !== undefined && current !== undefined && tenant !== current) {
      throw new SearchError(
        "ERR_SVC_SEARCH_TENANT",
        "the tenant of the call is not the tenant of the request or job",
      );
    }
    // The store rejects an invalid tenant (SEARCH-6).
    return current ?? tenant ?? missingTenant();
  }

  return {
    async ingest(document, content, options = {}) {
      checkMembers(options, "the options of ingest()", [...CALL, "metadata", "signal"]);
      const tenant = tenantOf(options);
      const { metadata, signal } = options;
      const given = chunksOf(content, metadata, splitting);
      const done = await answering(async () => (await store()).ingest(tenant, document, given, { signal }));
      emit({ type: "ingested", embedded: done.embedded, reused: done.reused });
      return done;
    },
    async ingestLater(document, text, options = {}) {
      checkMembers(options, "the options of ingestLater()", [...CALL, "metadata", "tx"]);
      const tenantId = tenantOf(options);
      checkTenant(tenantId);
      checkDocumentId(document);
      const { metadata, tx } = options;
      checkMetadata(metadata, filterKeys);
      checkText(text);
      const parts = chunks(text, splitting);
      checkCount(parts);
      for (const [index, part] of parts.entries()) checkContent(part, `chunk ${index}`);
      if (queue === undefined)
        throw new SearchError("ERR_SVC_SEARCH_QUEUE", "ingestLater() needs a job queue");
      const payload = { document, text, metadata };
      return queue.enqueue({ task: INGEST_TASK, payload, tenantId }, { tx });
    },
    async search(request) {
      checkMembers(request, "a search", SEARCH_MEMBERS);
      const { tenant: _tenant, where, ...own } = request;
      const tenant = tenantOf(request);
      const opened = await answering(async () => store());
      const started = performance.now();
      const hits = await answering(async () =>
        opened.search(tenant, { ...own, efSearch: own.efSearch ?? efSearch, filter: where }),
      );
      const durationMs = performance.now() - started;
      emit({ type: "searched", kind: kindOf(request), hits: hits.length, durationMs });
      return hits;
    },
    async deleteDocument(document, options) {
      const tenant = tenantOf(options);
      return answering(async () => (await store()).deleteDocument(tenant, document));
    },
    async stats(options) {
      const tenant = tenantOf(options);
      return answering(async () => (await store()).stats(tenant));
    },
    split: (text) => chunks(text, splitting),
    isLarge: (count) => queue !== undefined && count > inlineChunks,
    store: async () => store(),
  };
}

function missingTenant(): never {
  throw new SearchError(
    "ERR_SVC_SEARCH_TENANT",
    "a tenant is required: call this in a tenant's request or job, or pass the option tenant",
  );
}

function checkText(text: unknown): asserts text is string {
  if (typeof text !== "string" || text.trim() === "") {
    throw refused("the text of the document must be a non-empty string");
  }
}

function chunksOf(
  content: string | readonly NewChunk[],
  metadata: Meta | undefined,
  splitting: { readonly size: number; readonly overlap: number },
): readonly NewChunk[] {
  checkMetadata(metadata);
  if (typeof content === "string") {
    checkText(content);
    return chunks(content, splitting).map((each) => ({ content: each, meta: metadata }));
  }
  // The store rejects a value that is not a list of chunks.
  if (metadata === undefined || !Array.isArray(content)) return content;
  return Array.from(content as readonly NewChunk[], (each) =>
    isObject(each) && (each.meta === undefined || isObject(each.meta))
      ? { ...each, meta: { ...metadata, ...each.meta } }
      : each,
  );
}

function checkMetadata(metadata: Meta | undefined, filterKeys: readonly string[] = []): void {
  if (metadata !== undefined) metaText(metadata, "the metadata of the document", filterKeys);
}

function isObject(value: unknown): boolean {
  const isList = Array.isArray(value) || value instanceof Map || value instanceof Set;
  return typeof value === "object" && value !== null && !isList;
}

/** Returns the kind of a search. The store of a service embeds every text, unless the weights exclude the vector. */
function kindOf({ text, weights }: BoundRequest): "vector" | "text" | "hybrid" {
  if (text === undefined || weights?.text === 0) return "vector";
  return weights?.vector === 0 ? "text" : "hybrid";
}
