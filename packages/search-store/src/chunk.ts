import { createHash } from "node:crypto";
import { checkContent, checkMembers, MAX_META_BYTES } from "./checks.ts";
import { checkVector, type Vector } from "./embedding.ts";
import { refused } from "./errors.ts";
import type { ResolvedOptions } from "./options.ts";

/** The JSON object that is kept beside a chunk. */
export type Meta = Readonly<Record<string, unknown>>;

/** A chunk of a document as it is handed in. */
export interface NewChunk {
  /** The text, not empty, at most 262,144 bytes. */
  readonly content: string;
  /** Default `{}`. */
  readonly meta?: Meta | undefined;
  /** Default: what `embed` answers for the content, or what the same content had before. */
  readonly embedding?: Vector | undefined;
}

/** A chunk that was looked at and found good. */
export interface CheckedChunk {
  readonly content: string;
  /** SHA-256 of the content, and of the embedder's name where the store has one, in hex. */
  readonly hash: string;
  /** JSON. */
  readonly meta: string;
  readonly embedding: Vector | undefined;
}

const MAX_KEY_VALUE_BYTES = 500;
// What JSON may say and a jsonb cannot keep. An escape counts when the backslashes before it are pairs.
const UNKEPT = /(?<!\\)(?:\\\\)*\\u(?:0000|d[89a-f][0-9a-f]{2})/i;

/**
 * @param what names the chunk in errors
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
    meta: metaText(meta, what, options.filterKeys),
    embedding,
  };
}

function hashOf(content: string, embedder: string | undefined): string {
  const hash = createHash("sha256");
  if (embedder !== undefined) hash.update(`${embedder}\0`);
  return hash.update(content).digest("hex");
}

function metaText(meta: Meta, what: string, filterKeys: readonly string[]): string {
  let text: string | undefined;
  try {
    // Of these JSON keeps nothing, and says nothing.
    if (!(meta instanceof Map || meta instanceof Set)) text = JSON.stringify(meta);
  } catch {
    // Said below.
  }
  if (text === undefined || !text.startsWith("{")) throw refused(`the meta of ${what} must be a JSON object`);
  if (UNKEPT.test(text)) throw refused(`the meta of ${what} must not contain NUL or half a surrogate pair`);
  const bytes = Buffer.byteLength(text);
  if (bytes > MAX_META_BYTES) {
    throw refused(`the meta of ${what} has ${bytes} bytes as JSON; at most ${MAX_META_BYTES} are allowed`);
  }
  for (const key of filterKeys) {
    if (!Object.hasOwn(meta, key)) continue;
    const value = meta[key];
    const long = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
    if (Buffer.byteLength(long) <= MAX_KEY_VALUE_BYTES) continue;
    throw refused(
      `the meta of ${what} has a longer value of a filter key than the ${MAX_KEY_VALUE_BYTES} bytes that its index takes`,
    );
  }
  return text;
}
