import { queryAs } from "./access.ts";
import { checkDocumentId, checkMembers, checkWhole } from "./checks.ts";
import type { Meta } from "./chunk.ts";
import { refused } from "./errors.ts";
import { compileFilter } from "./filter/compile.ts";
import type { Filter } from "./filter/parse-filter.ts";
import type { ResolvedOptions } from "./options.ts";
import { selectPage } from "./sql/chunks.ts";

export interface ListRequest {
  /** Restricts the list to one document. Default: all documents. */
  readonly documentId?: string | undefined;
  /** Condition on the metadata. Default: none. */
  readonly filter?: Filter | undefined;
  /** Chunks per page, 1 to 1,000. Default 100. */
  readonly limit?: number | undefined;
  /** `next` of the previous page. Default: the first page. */
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
  /** Ordered by document and ordinal. */
  readonly chunks: readonly ListedChunk[];
  /** Value for `after` of the next page; missing on the last page. */
  readonly next?: string | undefined;
}

const MAX_LIMIT = 1000;
// The longest cursor: a document id of 1,024 bytes as escaped JSON, in base64.
const MAX_CURSOR = 8500;

type ChunkRow = { document_id: string; ordinal: number; content: string; meta: Meta; created_at: Date };

/** Returns a page of a tenant's chunks, ordered by document and ordinal (SEARCH-1). */
export async function listChunks(
  options: ResolvedOptions,
  tenant: string,
  request: ListRequest = {},
): Promise<Page> {
  checkMembers(request, "the request of a list", ["documentId", "filter", "limit", "after"]);
  const { documentId, filter, limit = 100, after } = request;
  checkWhole(limit, "limit", 1, MAX_LIMIT);
  const values: unknown[] = [tenant];
  const parameter = (value: unknown): string => `$${values.push(value)}`;
  let more = "";
  if (documentId !== undefined) {
    checkDocumentId(documentId);
    more += ` and document_id = ${parameter(documentId)}`;
  }
  if (after !== undefined) {
    const [document, ordinal] = positionOf(after);
    more += ` and (document_id, ordinal) > (${parameter(document)}, ${parameter(ordinal)}::int)`;
  }
  if (filter !== undefined) more += ` and (${compileFilter(options, filter, values)})`;
  const statement = selectPage(options, more, `${parameter(limit + 1)}::int`);
  const { rows } = await queryAs<ChunkRow>(options, tenant, statement, values);
  const chunks = rows.slice(0, limit).map(chunkOf);
  const last = chunks.at(-1);
  return rows.length > limit && last !== undefined ? { chunks, next: cursorOf(last) } : { chunks };
}

function chunkOf({ document_id, ordinal, content, meta, created_at }: ChunkRow): ListedChunk {
  return { documentId: document_id, ordinal, content, meta, createdAt: created_at };
}

function cursorOf({ documentId, ordinal }: ListedChunk): string {
  return Buffer.from(JSON.stringify([documentId, ordinal])).toString("base64url");
}

function positionOf(cursor: unknown): [string, number] {
  try {
    if (typeof cursor === "string" && cursor.length <= MAX_CURSOR) {
      const position: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
      if (Array.isArray(position) && position.length === 2) {
        const [documentId, ordinal] = position as unknown[];
        checkDocumentId(documentId);
        checkWhole(ordinal, "ordinal", 0, 2 ** 31 - 1);
        return [documentId, ordinal];
      }
    }
  } catch {
    // Reported below.
  }
  throw refused("after must be the next of the page before");
}
