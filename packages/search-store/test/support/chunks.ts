import type { BulkChunk, NewChunk, SearchStore } from "@svc/search-store";

/** What a tenant, or one document of it, has. */
export async function contents(store: SearchStore, tenant: string, documentId?: string): Promise<string[]> {
  const { chunks } = await store.list(tenant, { documentId, limit: 1000 });
  return chunks.map((each) => each.content);
}

export function texts(...all: string[]): NewChunk[] {
  return all.map((content) => ({ content }));
}

/** Chunks of documents of ten. */
export function* numbered(count: number): Generator<BulkChunk> {
  for (let index = 0; index < count; index++) {
    const documentId = `document ${String(Math.floor(index / 10)).padStart(4, "0")}`;
    yield { documentId, content: `text ${index}`, meta: { index }, embedding: [1, index % 7, 2] };
  }
}
