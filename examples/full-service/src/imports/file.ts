import type { IncomingMessage } from "node:http";
import {
  badRequest,
  isProblemError,
  payloadTooLarge,
  unprocessable,
  unsupportedMediaType,
  type ValidationIssue,
} from "@svc/problem";
import { createCsvReader, CsvError, type CsvRecord } from "./csv.ts";
import type { Header, StagedRow } from "./import.ts";

/** Limits of a file. The limit of all request bodies applies to its size in bytes. */
export interface FileLimits {
  /** Maximum number of rows in a file, not counting the header. Default: 10,000. */
  readonly maxRows?: number | undefined;
  /** Rows in memory at a time. Default: 500. */
  readonly batchRows?: number | undefined;
}

const required: Header = ["category", "amount", "paid_at"];
const known: Header = [...required, "note"];

/** @throws ProblemError 415 for a compressed file or another charset */
export function checkEncoding({ headers }: IncomingMessage): void {
  const charset = /;\s*charset\s*=\s*"?([^";\s]*)/i.exec(headers["content-type"] ?? "")?.[1] ?? "utf-8";
  if (!/^utf-?8$/i.test(charset)) throw unsupportedMediaType("the charset of a file must be utf-8");
  if (!/^(?:identity)?$/i.test(headers["content-encoding"] ?? "")) {
    throw unsupportedMediaType("a file must not be compressed", {
      headers: { "Accept-Encoding": "identity" },
    });
  }
}

/**
 * Reads a file of expenses in chunks and passes its rows to `keep` in batches. Only one batch and one chunk are in memory.
 *
 * @param keep stores a batch; reading continues when its promise resolves
 * @returns the number of rows
 * @throws ProblemError 400, 413 or 422 for a malformed file; invalid rows do not throw
 */
export async function readFile(
  req: IncomingMessage,
  keep: (header: Header, rows: readonly StagedRow[]) => Promise<void>,
  { maxRows = 10_000, batchRows = 500 }: FileLimits = {},
): Promise<number> {
  let header: Header | undefined;
  let batch: StagedRow[] = [];
  let count = 0;
  for await (const records of recordsOf(req)) {
    for (const { line, fields } of records) {
      if (header === undefined) {
        header = checkHeader(fields);
        continue;
      }
      count += 1;
      if (count > maxRows)
        throw payloadTooLarge(`a file may have at most ${maxRows} rows; send the rest in another file`);
      batch.push({ line, fields });
      if (batch.length < batchRows) continue;
      await keep(header, batch);
      batch = [];
    }
  }
  if (header === undefined || count === 0) {
    throw unprocessable([
      { type: "empty", loc: ["body"], msg: `must have a header (${known.join(",")}) and at least one row` },
    ]);
  }
  if (batch.length > 0) await keep(header, batch);
  return count;
}

async function* recordsOf(req: IncomingMessage): AsyncGenerator<readonly CsvRecord[]> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const reader = createCsvReader();
  try {
    // A client whose file is refused in the middle must still get the response, so keep the connection open.
    for await (const chunk of req.iterator({ destroyOnReturn: false })) {
      yield reader.push(decoder.decode(chunk as Buffer, { stream: true }));
    }
    yield [...reader.push(decoder.decode()), ...reader.end()];
  } catch (error) {
    throw problemOf(error);
  } finally {
    // Discard the rest of the body; otherwise the next request on this connection is never read.
    req.resume();
  }
}

function problemOf(error: unknown): unknown {
  if (error instanceof CsvError) {
    return unprocessable([
      { type: "csv", loc: ["body", error.line], msg: `line ${error.line} ${error.message}` },
    ]);
  }
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ERR_ENCODING_INVALID_ENCODED_DATA") return badRequest("the file is not UTF-8");
  if (code === "ECONNRESET" || code === "ERR_STREAM_PREMATURE_CLOSE") {
    return badRequest("the file is incomplete");
  }
  return isProblemError(error) ? error : badRequest("the file could not be read", { cause: error });
}

/** Checks the column names, which may be in any order; `note` is optional. */
function checkHeader(names: Header): Header {
  const issues: ValidationIssue[] = required
    .filter((name) => !names.includes(name))
    .map((name) => ({
      type: "missing",
      loc: ["header", name],
      msg: "must be among the columns of the first line",
    }));
  for (const [index, name] of names.entries()) {
    const add = (type: string, msg: string): unknown =>
      issues.push({ type, loc: ["header", index], msg, input: name });
    if (!known.includes(name)) add("unknown", `is unknown; expected one of ${known.join(", ")}`);
    else if (names.indexOf(name) < index) add("repeated", "must appear once");
  }
  if (issues.length > 0) throw unprocessable(issues);
  return names;
}
