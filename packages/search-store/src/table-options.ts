import { defineOptions, kinds as k } from "@svc/options";

/** Default name of the table. */
export const DEFAULT_TABLE = "svc_chunks";

/**
 * The options of a store that `[plugin.rag]` also has. This file imports no other package, so that a disabled plugin costs
 * little.
 */
export const tableOptions = defineOptions("createSearchStore()", {
  /** Length of an embedding, 1 to 4,000. Required. */
  dimensions: { key: "dimensions", kind: k.integer({ min: 1, max: 4000 }) },
  /** Table, by name (at most 40 bytes) or `schema.name`. Default: `svc_chunks`. */
  table: { key: "table", kind: k.withDefault(k.string(), DEFAULT_TABLE) },
  /** PostgreSQL text search configuration that splits texts into words, such as `english`. Default: `simple`. */
  textConfig: {
    key: "text_config",
    kind: k.withDefault(
      k.string({
        pattern: /^[a-z_][a-z0-9_]{0,62}(?:\.[a-z_][a-z0-9_]{0,62})?$/,
        expects: "the name of a text search configuration, such as english",
      }),
      "simple",
    ),
  },
  /** Precision of stored embeddings: two bytes per number (`half`) or four (`full`). Default: `half`. */
  precision: { key: "precision", kind: k.withDefault(k.oneOf("half", "full"), "half") },
  /** Metadata keys with their own index; their values are strings of at most 500 bytes. Default: none. */
  filterKeys: { key: "filter_keys", kind: k.withDefault(k.listOf(k.string()), []) },
  /** Minimum number of chunks for which `maintainIndexes()` creates a tenant's approximate index. Default: 5000. */
  indexAbove: { key: "index_above", kind: k.withDefault(k.integer({ min: 1, max: 1_000_000_000 }), 5000) },
  /** Number of chunks below which `maintainIndexes()` drops the index. Default: 2500. */
  indexBelow: { key: "index_below", kind: k.withDefault(k.integer({ min: 0, max: 1_000_000_000 }), 2500) },
  /** Maximum number of texts per call to `embed`, 1 to 2,048. Default: 64. */
  embedBatch: { key: "embed_batch", kind: k.withDefault(k.integer({ min: 1, max: 2048 }), 64) },
  /** Time limit of one call to `embed` in seconds, 0.05 to 3,600. Default: 30. */
  embedTimeoutSeconds: { key: "embed_timeout", kind: k.withDefault(k.number({ min: 0.05, max: 3600 }), 30) },
  /** Whether spans have the attribute `rag.document_id`, cut at 256 characters. Default: true. */
  recordDocumentIds: { key: "record_document_ids", kind: k.withDefault(k.boolean(), true) },
});
