import { queryAs } from "./access.ts";
import { checkDocumentId, checkMembers, checkWhole } from "./checks.ts";
import type { Meta } from "./chunk.ts";
import { refused } from "./errors.ts";
import { compileFilter } from "./filter/compile.ts";
import type { Filter } from "./filter/parse-filter.ts";
import type { ResolvedOptions } from "./options.ts";
import { selectPage } from "./sql/chunks.ts";

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

const MAX_LIMIT = 1000;
// A document's id of 1,024 bytes as JSON at its longest, in base64.
const MAX_CURSOR = 8500;

type ChunkRow = { document_id: string; ordinal: number; content: string; meta: Meta; created_at: Date };

/** A page of a tenant's chunks by document and ordinal, after the last one of the page before (SEARCH-1). */
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
    // Said below.
  }
  throw refused("after must be the next of the page before");
}
