import type { BulkChunk, NewChunk, SearchStore } from "@svc/search-store";

/** Returns the stored chunks of a tenant, or of one of its documents. */
export async function contents(store: SearchStore, tenant: string, documentId?: string): Promise<string[]> {
  const { chunks } = await store.list(tenant, { documentId, limit: 1000 });
  return chunks.map((each) => each.content);
}

export function texts(...all: string[]): NewChunk[] {
  return all.map((content) => ({ content }));
}

/** Returns chunks of documents with ten chunks each. */
export function* numbered(count: number): Generator<BulkChunk> {
  for (let index = 0; index < count; index++) {
    const documentId = `document ${String(Math.floor(index / 10)).padStart(4, "0")}`;
    yield { documentId, content: `text ${index}`, meta: { index }, embedding: [1, index % 7, 2] };
  }
}
