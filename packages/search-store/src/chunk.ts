import { createHash } from "node:crypto";
import { checkContent, checkMembers, MAX_META_BYTES } from "./checks.ts";
import { checkVector, type Vector } from "./embedding.ts";
import { refused } from "./errors.ts";
import type { ResolvedOptions } from "./options.ts";

/** JSON object stored with a chunk. */
export type Meta = Readonly<Record<string, unknown>>;

/** A chunk of a document, as the caller passes it. */
export interface NewChunk {
  /** Non-empty string of at most 262,144 bytes. */
  readonly content: string;
  /** Metadata of at most 65,536 bytes as JSON. Default `{}`. */
  readonly meta?: Meta | undefined;
  /** Default: the stored embedding of the same content, else the result of `embed`. */
  readonly embedding?: Vector | undefined;
}

/** A validated chunk. */
export interface CheckedChunk {
  readonly content: string;
  /** SHA-256 in hex of the content, preceded by the embedder's name if the store has one. */
  readonly hash: string;
  /** JSON text. */
  readonly meta: string;
  readonly embedding: Vector | undefined;
}

const MAX_KEY_VALUE_BYTES = 500;
// Matches escapes that JSON allows but jsonb cannot store. An odd number of backslashes before the u makes it an escape.
const UNKEPT = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/i;

/**
 * @param what name of the chunk in errors
 * @throws SearchError `ERR_SVC_SEARCH_ARGUMENT`, `ERR_SVC_SEARCH_VECTOR`
 */
export function checkChunk(
  options: ResolvedOptions,
  chunk: NewChunk,
  what: string,
  known: readonly string[] = ["content", "meta", "embedding"],
): CheckedChunk {
  checkMembers(chunk, what, known);
  const { content, meta = {}, embedding } = chunk;
  checkContent(content, what);
  if (embedding !== undefined) checkVector(options, embedding, `the embedding of ${what}`);
  return {
    content,
    hash: hashOf(content, options.embedder),
    meta: metaText(meta, `the meta of ${what}`, options.filterKeys),
    embedding,
  };
}

function hashOf(content: string, embedder: string | undefined): string {
  const hash = createHash("sha256");
  if (embedder !== undefined) hash.update(`${embedder}\0`);
  return hash.update(content).digest("hex");
}

/**
 * Returns the JSON text of metadata.
 *
 * @throws SearchError `ERR_SVC_SEARCH_ARGUMENT`; the message begins with `what`
 */
export function metaText(meta: Meta, what: string, filterKeys: readonly string[]): string {
  let text: string | undefined;
  try {
    // JSON.stringify() would silently turn a Map or a Set into {}.
    if (!(meta instanceof Map || meta instanceof Set)) text = JSON.stringify(meta);
  } catch {
    // The check below reports a value that JSON.stringify() rejects.
  }
  if (text === undefined || !text.startsWith("{")) throw refused(`${what} must be a JSON object`);
  if (UNKEPT.test(text)) throw refused(`${what} must not contain NUL or an unpaired surrogate`);
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_META_BYTES) {
    throw refused(`${what} has ${bytes} bytes as JSON; at most ${MAX_META_BYTES} are allowed`);
  }
  for (const key of filterKeys) {
    if (!Object.hasOwn(meta, key)) continue;
    const value = meta[key];
    const long = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
    if (Buffer.byteLength(long) <= MAX_KEY_VALUE_BYTES) continue;
    throw refused(
      `${what} has a filter key with a value of more than ${MAX_KEY_VALUE_BYTES} bytes, the limit of its index`,
    );
  }
  return text;
}
