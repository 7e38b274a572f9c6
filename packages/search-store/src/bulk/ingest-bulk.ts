import { literal, type Queryable, sqlStateOf } from "@svc/sql";
import { transactionAs } from "../access.ts";
import { checkChunk, type CheckedChunk, type NewChunk } from "../chunk.ts";
import { checkDocumentId, checkWhole } from "../checks.ts";
import { embedContents } from "../embed.ts";
import { refused, SearchError } from "../errors.ts";
import type { IngestOptions } from "../ingest.ts";
import { shareTenant } from "../locks.ts";
import type { ResolvedOptions } from "../options.ts";
import { type BulkRow, COPY_COLUMNS } from "./encoder.ts";
import { openSink, type Sink, wayOf } from "./sinks.ts";
import { readSource } from "./source.ts";

/** A chunk of a bulk load. */
export interface BulkChunk extends NewChunk {
  readonly documentId: string;
  /** Position in the document, from 0. Default: one after the previous chunk of the same document, else 0. */
  readonly ordinal?: number | undefined;
}

const MAX_ROWS = 500;
const MAX_BYTES = 2 ** 20;
const MAX_ORDINAL = 2 ** 31 - 1;
const STAGE = "svc_bulk_load";
const MEMBERS = ["documentId", "ordinal", "content", "meta", "embedding"];

type Waiting = CheckedChunk & { readonly documentId: string; readonly ordinal: number };

/**
 * Adds new chunks in one transaction, all or none (SEARCH-2). Reads from the source only as fast as the server accepts rows.
 *
 * @throws SearchError `ERR_SVC_SEARCH_DUPLICATE` for a chunk that exists already
 * @throws the source's error
 */
export async function ingestBulk(
  options: ResolvedOptions,
  tenant: string,
  source: AsyncIterable<BulkChunk> | Iterable<BulkChunk>,
  { signal }: IngestOptions = {},
): Promise<{ readonly chunks: number; readonly embedded: number }> {
  // An error from the server aborts the load even while it waits for the source or an embedding.
  const refusal = new AbortController();
  const ended = signal === undefined ? refusal.signal : AbortSignal.any([signal, refusal.signal]);
  const chunks = readSource(source, ended);
  try {
    return await transactionAs(options, tenant, (tx) => load(tx, options, tenant, chunks, ended, refusal));
  } catch (error) {
    if (sqlStateOf(error) !== "23505") throw error;
    const message =
      "a chunk of the load exists already, or occurs twice in the load; the load was rolled back";
    throw new SearchError("ERR_SVC_SEARCH_DUPLICATE", message, { cause: error });
  }
}

async function load(
  tx: Queryable,
  options: ResolvedOptions,
  tenant: string,
  source: AsyncIterable<BulkChunk>,
  signal: AbortSignal,
  refusal: AbortController,
): Promise<{ readonly chunks: number; readonly embedded: number }> {
  const { quotedTable, vectorType, precision, table } = options;
  await shareTenant(tx, table, tenant);
  const { rows } = await tx.query<Rights>(selectRights(quotedTable));
  const { secured, files } = rows[0] ?? { secured: false, files: false };
  const way = wayOf(tx, files);
  // With row security active for this login, the server refuses COPY into the table: load through a temporary table.
  const isStaged = secured && way !== "insert";
  if (isStaged) {
    await tx.query(
      `create temporary table ${STAGE} on commit drop as select ${COPY_COLUMNS} from ${quotedTable} with no data`,
    );
  }
  const target = { tenant, quotedTable: isStaged ? STAGE : quotedTable, vectorType, precision };
  const sink = await openSink(tx, way, target);
  sink.over?.catch((error: unknown) => refusal.abort(error));
  try {
    const done = await pump(sink, options, source, signal);
    await sink.end();
    if (isStaged) {
      await tx.query(`insert into ${quotedTable} (${COPY_COLUMNS}) select ${COPY_COLUMNS} from ${STAGE}`);
      // Drop it now, because another load in the same transaction creates a table with this name.
      await tx.query(`drop table pg_temp.${STAGE}`);
    }
    return done;
  } catch (error) {
    await sink.abort();
    throw error;
  }
}

type Rights = { secured: boolean; files: boolean };

/**
 * Returns the query that reads whether row security is active and whether the login may read server files; both decide
 * how rows are loaded.
 */
function selectRights(quotedTable: string): string {
  return `
select row_security_active(${literal(quotedTable)}) as secured,
  (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
    or pg_has_role('pg_read_server_files', 'usage') as files`;
}

async function pump(
  sink: Sink,
  options: ResolvedOptions,
  source: AsyncIterable<BulkChunk>,
  signal: AbortSignal,
): Promise<{ readonly chunks: number; readonly embedded: number }> {
  const positionOf = createNumbering();
  let waiting: Waiting[] = [];
  let bytes = 0;
  let chunks = 0;
  let embedded = 0;
  const flush = async (): Promise<void> => {
    const { rows, made } = await withEmbeddings(options, waiting, signal);
    await sink.write(rows);
    chunks += rows.length;
    embedded += made;
    waiting = [];
    bytes = 0;
  };
  for await (const chunk of source) {
    const what = `chunk ${chunks + waiting.length} of the load`;
    const checked = checkChunk(options, chunk, what, MEMBERS);
    waiting.push({ ...checked, ...positionOf(chunk) });
    bytes += checked.content.length + checked.meta.length;
    if (waiting.length >= MAX_ROWS || bytes >= MAX_BYTES) await flush();
  }
  if (waiting.length > 0) await flush();
  return { chunks, embedded };
}

/** Returns a function that numbers chunks without an ordinal. It remembers only the document of the last chunk. */
function createNumbering(): (chunk: BulkChunk) => { documentId: string; ordinal: number } {
  let current: string | undefined;
  let next = 0;
  return ({ documentId, ordinal }) => {
    if (documentId !== current) {
      checkDocumentId(documentId);
      current = documentId;
      next = 0;
    }
    const at = ordinal ?? next;
    checkWhole(at, "ordinal", 0, MAX_ORDINAL);
    next = at + 1;
    return { documentId, ordinal: at };
  };
}

async function withEmbeddings(
  options: ResolvedOptions,
  waiting: readonly Waiting[],
  signal: AbortSignal,
): Promise<{ readonly rows: readonly BulkRow[]; readonly made: number }> {
  const open = new Map(
    waiting.filter((each) => each.embedding === undefined).map((each) => [each.hash, each]),
  );
  const made = await embedContents(options, [...open.values()], signal);
  const rows = waiting.map((each) => {
    const embedding = each.embedding ?? made.get(each.hash);
    if (embedding === undefined) throw refused("a chunk of the load has no embedding");
    return { ...each, embedding };
  });
  return { rows, made: made.size };
}
