import type { Embed } from "@svc/search-store";

/** The number of dimensions of an embedding. */
export const dimensions = 256;

/** A new name makes the store embed all texts again: change it with the code below. */
export const embedderName = "demo-hashes-1";

const wordWeight = 0.8;
const pieceWeight = 0.7;
/** Words of up to three letters, such as "the", "and" and "for", occur in every text and carry no meaning. */
const empty = /^[a-z]{1,3}$/;
const pieceLength = 3;
const mostWords = 20_000;

/**
 * An embedder for a demo: it needs no model and no download, and the same text gives the same numbers everywhere. A
 * hash of every word, and of every three-letter sequence, selects a dimension and adds to it or subtracts from it. So
 * texts are similar if they share words or parts of words ("invoice", "invoices", "invioce"); the embedder does not
 * know that "taxi" and "cab" mean the same. A real service uses a model instead.
 */
export const demoEmbed: Embed = (texts) => texts.map(demoEmbedding);

/** Returns one embedding, a vector of length 1. */
export function demoEmbedding(text: string): Float32Array {
  const counts = new Map<string, number>();
  const words =
    normal(text)
      .match(/[\p{L}\p{N}]+/gu)
      ?.slice(0, mostWords) ?? [];
  for (const word of words) {
    if (empty.test(word)) continue;
    add(counts, `word ${word}`, wordWeight);
    const padded = ` ${word} `;
    for (let at = 0; at + pieceLength <= padded.length; at++) {
      add(counts, padded.slice(at, at + pieceLength), pieceWeight);
    }
  }
  const vector = new Float32Array(dimensions);
  for (const [feature, count] of counts) {
    const hash = hashOf(feature);
    const sign = hash & 0x80000000 ? -1 : 1;
    // Use the logarithm, because otherwise ten occurrences would count ten times as much.
    const at = hash % dimensions;
    vector[at] = (vector[at] ?? 0) + sign * Math.log1p(count);
  }
  return unit(vector, text);
}

function add(counts: Map<string, number>, feature: string, weight: number): void {
  counts.set(feature, (counts.get(feature) ?? 0) + weight);
}

/** Removes accents and capitals. */
function normal(text: string): string {
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
}

/** Returns the FNV-1a hash over UTF-16 units, mixed once more because its lower bits are similar for similar texts. */
function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 15), 0x2c1b3c6d);
  return (hash ^ (hash >>> 13)) >>> 0;
}

function unit(vector: Float32Array, text: string): Float32Array {
  // For a text without words, or whose features cancel out, return a vector that is similar only to itself: the store
  // rejects a zero vector.
  const isEmpty = Math.hypot(...vector) < 1e-6;
  const whole = isEmpty ? vector.map((_, at) => (hashOf(`${at} ${text}`) & 1 ? 1 : -1)) : vector;
  const length = Math.hypot(...whole);
  return whole.map((value) => value / length);
}
