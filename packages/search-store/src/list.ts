import { queryAs } from "./access.ts";
import { checkDocumentId, checkMembers, checkWhole } from "./checks.ts";
import type { Meta } from "./chunk.ts";
import { refused } from "./errors.ts";
import { compileCondition } from "./filter/compile.ts";
import { type Filter, parseFilter } from "./filter/parse-filter.ts";
import type { ResolvedOptions } from "./options.ts";
import { createParameters } from "./parameters.ts";

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
  checkMembers(request, "the request of list()", ["documentId", "filter", "limit", "after"]);
  const { documentId, filter, limit = 100, after } = request;
  checkWhole(limit, "limit", 1, MAX_LIMIT);
  const parameters = createParameters();
  const conditions = [`tenant_id = ${parameters.add(tenant, "text")}`];
  if (documentId !== undefined) {
    checkDocumentId(documentId);
    conditions.push(`document_id = ${parameters.add(documentId, "text")}`);
  }
  if (after !== undefined) {
    const [document, ordinal] = positionOf(after);
    const position = `(${parameters.add(document, "text")}, ${parameters.add(ordinal, "int")})`;
    conditions.push(`(document_id, ordinal) > ${position}`);
  }
  if (filter !== undefined) {
    conditions.push(compileCondition(parseFilter(filter), parameters, options.filterKeys));
  }
  // Fetch one extra row to learn whether there is another page.
  const statement = `
select document_id, ordinal, content, meta, created_at from ${options.quotedTable}
where ${conditions.join(" and ")}
order by document_id, ordinal
limit ${parameters.add(limit + 1, "int")}`;
  const { rows } = await queryAs<ChunkRow>(options, tenant, statement, parameters.values);
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
    // The error below reports the invalid cursor.
  }
  throw refused("after must be the value of `next` from the previous page");
}
