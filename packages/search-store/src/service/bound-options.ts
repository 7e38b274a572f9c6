import { isTenantId, TENANT_ID_EXPECTED } from "@svc/context";
import { defineOptions, kinds as k } from "@svc/options";
import { chunksOptions } from "../chunks.ts";

const { size, overlap } = chunksOptions.keys;
const tenantId: k.Kind<string> = {
  expects: `a tenant id with ${TENANT_ID_EXPECTED}`,
  accepts: (value): value is string => typeof value === "string" && isTenantId(value),
};

/**
 * The options of `bindSearch()` that `[plugin.rag]` also has. This file imports no heavy package, so that a disabled
 * plugin costs little.
 */
export const boundOptions = defineOptions("bindSearch()", {
  /** Width of an approximate index scan (`hnsw.ef_search`) in searches without their own, 1 to 1,000. Default: 100. */
  efSearch: { key: "ef_search", kind: k.withDefault(k.integer({ min: 1, max: 1000 }), 100) },
  /** Largest length of a chunk of a text, in characters, 16 to 100,000. Default: 1000. */
  chunkSize: { key: "chunk_size", kind: size.kind },
  /** Largest number of characters that a chunk repeats from the previous chunk; less than `chunkSize`. Default: 150. */
  chunkOverlap: { key: "chunk_overlap", kind: overlap.kind },
  /** Number of chunks of a text above which the routes queue its ingest, if there is a queue, 0 to 10,000. Default: 64. */
  inlineChunks: { key: "inline_chunks", kind: k.withDefault(k.integer({ min: 0, max: 10_000 }), 64) },
  /** Tenant of calls outside a tenant's request or job; `"-"` for a service without tenants. Default: none. */
  tenant: { key: "tenant", kind: k.optional(tenantId) },
}).withCheck(function* ({ chunkSize, chunkOverlap }, name) {
  if (chunkOverlap < chunkSize) return;
  const message = `must be less than ${name("chunkSize")}, which is ${chunkSize}; it is ${chunkOverlap}`;
  yield { key: "chunkOverlap", message };
});
