import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Recorded } from "./record-exchanges.ts";

/** A request and its response. */
export interface Exchange {
  readonly method: string;
  readonly target: string;
  /** Names and values alternately. */
  readonly requestHeaders: readonly string[];
  readonly requestBody: Buffer;
  readonly status: number;
  /** Names and values alternately. */
  readonly headers: readonly string[];
  readonly body: Buffer;
}

/** The exchanges of all services with one document. */
export interface Documented {
  readonly document: string;
  readonly exchanges: readonly Exchange[];
}

/** The title of the example's document; the tests also start other servers. */
const TITLE = "expenses";

/** Reads the files of the recorder. `skipped` counts the exchanges of other servers. */
export function readRecorded(folder: string): {
  readonly documents: readonly Documented[];
  readonly skipped: number;
} {
  const files = readdirSync(folder).filter((file) => file.endsWith(".jsonl"));
  const lines = files.flatMap((file) => readFileSync(join(folder, file), "utf8").trim().split("\n"));
  const recorded = lines.filter((line) => line !== "").map((line) => JSON.parse(line) as Recorded);
  const documents = new Map<string, string>();
  for (const each of recorded) {
    if (!("document" in each)) continue;
    const document = Buffer.from(each.document, "base64").toString();
    if (titleOf(document) === TITLE) documents.set(each.server, document);
  }
  const byDocument = new Map<string, Exchange[]>();
  let skipped = 0;
  for (const each of recorded) {
    if ("document" in each) continue;
    const document = documents.get(each.server);
    if (document === undefined) skipped++;
    else byDocument.set(document, [...(byDocument.get(document) ?? []), exchangeOf(each)]);
  }
  return {
    documents: [...byDocument].map(([document, exchanges]) => ({ document, exchanges })),
    skipped,
  };
}

/** Returns the title of a document; undefined for anything else that a server sends. */
function titleOf(document: string): unknown {
  try {
    return (JSON.parse(document) as { readonly info?: { readonly title?: unknown } }).info?.title;
  } catch {
    return undefined;
  }
}

function exchangeOf(each: Exclude<Recorded, { readonly document: string }>): Exchange {
  const [statusLine = "", ...lines] = each.head.trimEnd().split("\r\n");
  return {
    method: each.method,
    target: each.target,
    requestHeaders: each.requestHeaders,
    requestBody: Buffer.from(each.requestBody, "base64"),
    status: Number(statusLine.split(" ")[1]),
    headers: lines.flatMap((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 1).trim()];
    }),
    body: Buffer.from(each.body, "base64"),
  };
}
