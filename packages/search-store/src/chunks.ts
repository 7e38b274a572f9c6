import { defineOptions, kinds as k, type OptionsOf } from "@svc/options";

/** The options of {@link chunks}, which `[plugin.rag]` also has. */
export const chunksOptions = defineOptions("chunks()", {
  /** Largest length of a chunk, in UTF-16 code units, 16 to 100,000. Default: 1000. */
  size: { kind: k.withDefault(k.integer({ min: 16, max: 100_000 }), 1000) },
  /**
   * Largest number of code units that a chunk repeats from the end of the previous chunk; less than `size`. Default: 150.
   */
  overlap: { kind: k.withDefault(k.integer({ min: 0, max: 99_999 }), 150) },
}).withCheck(function* ({ size, overlap }, name) {
  if (overlap >= size) {
    yield {
      key: "overlap",
      message: `must be less than ${name("size")}, which is ${size}; it is ${overlap}`,
    };
  }
});

/** Options of {@link chunks}. */
export type ChunksOptions = OptionsOf<typeof chunksOptions>;

/** A part of a text that a chunk does not split further. */
interface Part {
  readonly start: number;
  /** The end without white space. */
  readonly stop: number;
}

/** Ends of paragraphs, lines, sentences and words, each with the white space behind it. */
const BOUNDARIES = [/\n[^\S\n]*\n\s*/g, /\n\s*/g, /[.!?…][)\]"'”’]*\s+|[。！？]\s*/g, /\s+/g];
const WORD_START = /(?<=\s)\S/g;

/**
 * Splits a text into chunks that are as long as `size` allows. It splits at the ends of paragraphs; within a paragraph that
 * is too long, at the ends of lines, then sentences, then words; and within a word that is too long, between code points.
 * Every chunk is a section of the text without white space at its ends, and chunks omit only white space.
 *
 * @returns the chunks in order; none for a text of white space
 * @throws ConfigurationError for invalid options; TypeError for a text that is not a string
 */
export function chunks(text: string, options?: ChunksOptions): string[] {
  const { size, overlap } = chunksOptions.resolve(options);
  if (typeof text !== "string") throw new TypeError(`chunks() needs a string; it is a ${typeof text}`);
  // Shorter slices of a long word leave room for the overlap; a code point has up to two code units.
  const slice = Math.max(2, size - overlap);
  const parts = [...partsOf(text, { start: 0, stop: text.length }, size, slice)];
  const found: string[] = [];
  const wordFrom = wordsOf(text);
  let next = 0;
  let before = 0;
  while (next < parts.length) {
    const first = parts[next] as Part;
    const start = next === 0 ? first.start : repeatedFrom({ text, wordFrom }, before, first, size, overlap);
    while (next + 1 < parts.length && (parts[next + 1] as Part).stop - start <= size) next += 1;
    before = (parts[next] as Part).stop;
    found.push(text.slice(start, before));
    next += 1;
  }
  return found;
}

/** Yields the parts of a section, none of which is longer than `size`, from the given level of boundaries on. */
function* partsOf(text: string, whole: Part, size: number, slice: number, level = 0): Generator<Part> {
  const { start, stop } = trimmed(text, whole);
  if (stop === start) return;
  const boundary = BOUNDARIES[level];
  if (stop - start <= size) yield { start, stop };
  else if (boundary === undefined) yield* slicesOf(text, { start, stop }, slice);
  else {
    let from = start;
    for (const { index, 0: found } of text.slice(start, stop).matchAll(boundary)) {
      const end = start + index + found.length;
      yield* partsOf(text, { start: from, stop: end }, size, slice, level + 1);
      from = end;
    }
    yield* partsOf(text, { start: from, stop }, size, slice, level + 1);
  }
}

function* slicesOf(text: string, { start, stop }: Part, slice: number): Generator<Part> {
  let from = start;
  while (from < stop) {
    let end = Math.min(from + slice, stop);
    if (isWithinPair(text, end)) end -= 1;
    yield { start: from, stop: end };
    from = end;
  }
}

/**
 * Returns where the chunk that begins with the part `first` starts: in the end of the previous chunk, which it repeats, and
 * at the start of a word if possible.
 */
function repeatedFrom(
  { text, wordFrom }: Words,
  before: number,
  first: Part,
  size: number,
  overlap: number,
): number {
  let from = Math.max(before - overlap, first.stop - size);
  if (from >= before) return first.start;
  if (isWithinPair(text, from)) from += 1;
  const word = wordFrom(from);
  if (word < before) return word;
  // No word starts in the overlap. If the part continues a long word, repeat characters of that word, otherwise nothing.
  return first.start === before ? from : first.start;
}

interface Words {
  readonly text: string;
  readonly wordFrom: (from: number) => number;
}

/**
 * Returns a function that finds the first word that starts at a position or later; Infinity if there is none. Positions must
 * not decrease, so that all calls together read the text once.
 */
function wordsOf(text: string): (from: number) => number {
  let word = -1;
  return (from) => {
    if (word >= from) return word;
    WORD_START.lastIndex = from;
    return (word = WORD_START.exec(text)?.index ?? Infinity);
  };
}

function trimmed(text: string, { start, stop }: Part): Part {
  const section = text.slice(start, stop);
  const end = start + section.trimEnd().length;
  return { start: Math.min(end, stop - section.trimStart().length), stop: end };
}

function isWithinPair(text: string, at: number): boolean {
  const code = text.codePointAt(at - 1);
  return at > 0 && code !== undefined && code > 0xffff;
}
