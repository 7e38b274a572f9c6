import type { Writable } from "node:stream";
import { inTime, type Queryable } from "@svc/sql";
import { vectorText } from "../embedding.ts";
import { SearchError } from "../errors.ts";
import { type BulkRow, COPY_COLUMNS, COPY_HEADER, COPY_TRAILER, createEncoder } from "./encoder.ts";

/** Destination of the rows of a bulk load. */
export interface Sink {
  /** Resolves when the sink can accept more rows. */
  write(rows: readonly BulkRow[]): Promise<void>;
  /** Resolves when the server has accepted all rows. */
  end(): Promise<void>;
  /** Cancels the load; resolves when the connection is usable again. */
  abort(): Promise<void>;
  /** Rejects as soon as the server refuses rows or the connection is lost, if the driver reports this immediately. */
  readonly over?: Promise<void>;
}

/** The tenant and type of the rows, and the quoted table to load into. */
export interface Target {
  readonly tenant: string;
  readonly quotedTable: string;
  readonly vectorType: string;
  readonly precision: "half" | "full";
}

/** A connection of the embedded database, which reads a COPY from a file. */
interface FileTaker {
  copyFile(text: string, file: readonly Buffer[]): Promise<void>;
}

/** A `pg` client, which accepts query objects such as streams. */
interface Submitter {
  query(stream: Writable): Writable;
}

/** The method of loading rows: a binary COPY for `pg` clients and the embedded database, otherwise inserts. */
export type Way = "stream" | "file" | "insert";

/** @param files whether the login may read server files, including those of the embedded database */
export function wayOf(tx: Queryable, files: boolean): Way {
  if (isFileTaker(tx)) return files ? "file" : "insert";
  return isSubmitter(tx) ? "stream" : "insert";
}

/** @throws SearchError `ERR_SVC_SEARCH_PEER` for a `pg` client if pg-copy-streams is not installed */
export async function openSink(
  tx: Queryable,
  way: Way,
  target: Target,
  peer: () => Promise<CopyFrom> = loadCopyStreams,
): Promise<Sink> {
  if (way === "stream" && isSubmitter(tx)) return streamSink(tx, target, await peer());
  if (way === "file" && isFileTaker(tx)) return fileSink(tx, target);
  return insertSink(tx, target);
}

function isFileTaker(tx: object): tx is FileTaker {
  return "copyFile" in tx && typeof tx.copyFile === "function";
}

function isSubmitter(tx: object): tx is Submitter {
  const { connection } = tx as { connection?: { sendCopyFail?: unknown } | null };
  return typeof connection?.sendCopyFail === "function";
}

export type CopyFrom = (text: string) => Writable;

/** Loads the optional package on demand. */
export async function loadCopyStreams(
  load: () => Promise<{ readonly from: CopyFrom }> = () => import("pg-copy-streams"),
): Promise<CopyFrom> {
  try {
    return (await load()).from;
  } catch (error) {
    const message = "a bulk load through pg needs the package pg-copy-streams: npm install pg-copy-streams";
    throw new SearchError("ERR_SVC_SEARCH_PEER", message, { cause: error });
  }
}

function copyStatement({ quotedTable }: Target, source: string): string {
  return `copy ${quotedTable} (${COPY_COLUMNS}) from ${source} with (format binary)`;
}

function streamSink(tx: Queryable & Submitter, target: Target, from: CopyFrom): Sink {
  const encode = createEncoder(target.tenant, target.precision);
  const stream = tx.query(from(copyStatement(target, "stdin")));
  let failure: Error | undefined;
  // A stream whose statement failed emits only one error and no close event.
  const over = new Promise<void>((resolve) => {
    for (const event of ["finish", "close", "error"]) stream.once(event, resolve);
  });
  stream.on("error", (error) => {
    failure ??= error;
  });
  const failed = over.then(() => {
    if (failure !== undefined) throw failure;
  });
  failed.catch(() => undefined);

  // Await each write: after an error the stream has released the connection, and a second write would still be sent
  // over it.
  const send = async (bytes: Buffer): Promise<void> => {
    if (failure !== undefined) throw failure;
    const taken = new Promise<void>((resolve) => {
      stream.write(bytes, () => resolve());
    });
    await inTime(tx, Promise.race([taken, failed]));
  };
  let begun = false;
  const begin = async (): Promise<void> => {
    if (begun) return;
    begun = true;
    await send(COPY_HEADER);
  };
  return {
    async write(rows) {
      await begin();
      await send(encode(rows));
    },
    async end() {
      await begin();
      await send(COPY_TRAILER);
      stream.end();
      await inTime(tx, failed);
    },
    async abort() {
      // The server logs this error's message.
      if (failure === undefined && !stream.writableEnded) stream.destroy(new Error("bulk load aborted"));
      // If the server does not respond by the deadline, the connection is closed.
      await inTime(tx, over).catch(() => undefined);
    },
    over: failed,
  };
}

function fileSink(tx: FileTaker, target: Target): Sink {
  const encode = createEncoder(target.tenant, target.precision);
  const statement = copyStatement(target, "'/dev/blob'");
  return {
    write: (rows) => tx.copyFile(statement, [COPY_HEADER, encode(rows), COPY_TRAILER]),
    end: () => Promise.resolve(),
    abort: () => Promise.resolve(),
  };
}

function insertSink(tx: Queryable, target: Target): Sink {
  const statement = `
insert into ${target.quotedTable} (tenant_id, document_id, ordinal, content, content_sha256, meta, embedding)
select $1, document_id, ordinal, content, decode(hash, 'hex'), meta::jsonb, embedding::${target.vectorType}
from unnest($2::text[], $3::int[], $4::text[], $5::text[], $6::text[], $7::text[])
  as given (document_id, ordinal, content, hash, meta, embedding)`;
  return {
    async write(rows) {
      await tx.query(statement, [
        target.tenant,
        rows.map((row) => row.documentId),
        rows.map((row) => row.ordinal),
        rows.map((row) => row.content),
        rows.map((row) => row.hash),
        rows.map((row) => row.meta),
        rows.map((row) => vectorText(row.embedding)),
      ]);
    },
    end: () => Promise.resolve(),
    abort: () => Promise.resolve(),
  };
}
