import { defineOptions, kinds as k, type ResolvedOptions } from "@svc/options";
import type { Connectable, Queryable } from "@svc/sql";
import type { Embed } from "./embed.ts";
import { boundOptions } from "./service/bound-options.ts";
import { tableOptions } from "./table-options.ts";

/** The options of `[plugin.rag]`. */
export const ragOptions = defineOptions("[plugin.rag]", {
  ...tableOptions.keys,
  ...boundOptions.keys,
  /**
   * Whether to force row security on the table and set the tenant for every statement. Default: true where the plugin
   * tenancy is enabled.
   */
  rowSecurity: { key: "row_security", kind: k.optional(k.boolean()) },
  /** Interval in seconds at which approximate indexes are created and dropped, at most a week; 0 for never. Default: 300. */
  maintainEverySeconds: {
    key: "maintain_every",
    kind: k.withDefault(k.integer({ min: 0, max: 604_800 }), 300),
  },
  /**
   * Interval in seconds at which the search recall of one of the ten largest tenants is measured, in turn, at most a week; 0
   * for never. Default: 0.
   */
  recallEverySeconds: {
    key: "recall_every",
    kind: k.withDefault(k.integer({ min: 0, max: 604_800 }), 0),
  },
  /** Recall below which `/ready` has a note, 0 to 1. Default: 0.95. */
  recallAtLeast: { key: "recall_at_least", kind: k.withDefault(k.number({ min: 0, max: 1 }), 0.95) },
  /**
   * Folder of an embedded database for a server without pgvector; refused in `prod`. If empty, a server with pgvector is
   * required. Default: "".
   */
  embeddedFolder: { key: "embedded_folder", kind: k.withDefault(k.string({ allowEmpty: true }), "") },
  /** Whether a search that cannot be used makes the service unavailable. Default: false. */
  critical: { key: "critical", kind: k.withDefault(k.boolean(), false) },
  /** Computes the embeddings: `(texts, { signal }) => embeddings`, in the order of the texts. Required. */
  embed: { kind: k.optional(k.func<Embed>()) },
  /** Name of the model that `embed` uses; after a change, the next ingest embeds texts again. Default: none. */
  embedder: { kind: k.optional(k.string()) },
  /**
   * Pool that builds and measures indexes, of a role that is a member of the table's owner, has `BYPASSRLS` and no
   * `statement_timeout`; the caller closes it. Default: the service's database.
   */
  maintenanceDb: {
    kind: k.optional(k.objectWith<Queryable & Connectable>("a pool or a database", "connect")),
  },
});

/** The resolved options of `[plugin.rag]`. */
export type RagSettings = ResolvedOptions<(typeof ragOptions)["keys"]>;
