/** A chunk of the corpus. */
export interface Made {
  readonly documentId: string;
  readonly ordinal: number;
  readonly content: string;
  readonly meta: Meta;
  readonly embedding: Float32Array;
}

/** The values that searches filter by: one chunk in five has a given kind, one in fifty a given batch. */
export type Meta = Readonly<Record<"kind" | "batch", string>>;

/** A search by one tenant. */
export interface Query {
  readonly tenant: string;
  readonly vector: Float32Array;
  /** Two words that occur in the texts. */
  readonly text: string;
  /** The metadata for searches with a filter, which filter by one of its keys. */
  readonly meta: Meta;
}

/** The size of a corpus. */
export interface Size {
  readonly tenants: number;
  readonly perTenant: number;
}

/** A corpus that is the same on every machine. It is generated on demand. */
export interface Corpus {
  readonly size: Size;
  readonly tenants: readonly string[];
  /** All chunks of one tenant. */
  chunksOf(tenant: string): Generator<Made>;
  /** Returns the vectors of a tenant's chunks in one array, in the order of `chunksOf()`. */
  vectorsOf(tenant: string): Float32Array;
  metaOf(tenant: string): readonly Meta[];
  queries(count: number): readonly Query[];
}

export const DIMENSIONS = 384;
export const CHUNKS_PER_DOCUMENT = 20;
const SEED = 20_261_121;
const LATENT = 48;
const CENTRES = 2000;
const SPREAD = 1.1;
const NOISE = 0.35;
const WORDS_PER_TEXT = 40;
const VOCABULARY = 5000;

/** Describes the generated data in one line. */
export const recipe: string =
  `${DIMENSIONS} dimensions; ${CENTRES} centres in a latent space of ${LATENT}, spread ${SPREAD}, ` +
  `noise ${NOISE}, unit length; texts of ${WORDS_PER_TEXT} words by Zipf; seed ${SEED}`;

/**
 * Creates a corpus with vectors like those of text models: far fewer directions than dimensions, overlapping topics,
 * and noise in all dimensions. Their distribution decides what an approximate index finds, so a measured recall applies
 * to these vectors only.
 */
export function createCorpus(size: Size): Corpus {
  const world = createWorld();
  const tenants = Array.from({ length: size.tenants }, (_, at) => `t${String(at).padStart(4, "0")}`);
  const seedOf = (tenant: string, at: number): number => (Number(tenant.slice(1)) * 1_000_003 + at) | 0;
  // Words have their own random stream, so that vectors can be generated without words, and words without vectors.
  const wordsOf = (tenant: string, at: number): Draws => createDraws(seedOf(tenant, at), 2);
  return {
    size,
    tenants,
    *chunksOf(tenant) {
      for (let at = 0; at < size.perTenant; at++) {
        const embedding = new Float32Array(DIMENSIONS);
        drawVector(world, createDraws(seedOf(tenant, at)), embedding);
        const draw = wordsOf(tenant, at);
        const meta = drawMeta(draw);
        yield {
          documentId: `d${Math.floor(at / CHUNKS_PER_DOCUMENT)}`,
          ordinal: at % CHUNKS_PER_DOCUMENT,
          content: Array.from({ length: WORDS_PER_TEXT }, () => drawWord(world, draw)).join(" "),
          meta,
          embedding,
        };
      }
    },
    vectorsOf(tenant) {
      const all = new Float32Array(size.perTenant * DIMENSIONS);
      for (let at = 0; at < size.perTenant; at++) {
        const place = all.subarray(at * DIMENSIONS, (at + 1) * DIMENSIONS);
        drawVector(world, createDraws(seedOf(tenant, at)), place);
      }
      return all;
    },
    metaOf: (tenant) => Array.from({ length: size.perTenant }, (_, at) => drawMeta(wordsOf(tenant, at))),
    queries(count) {
      return Array.from({ length: count }, (_, at) => {
        const draw = createDraws(-1 - at);
        const vector = new Float32Array(DIMENSIONS);
        drawVector(world, draw, vector);
        // Uses each of a few tenants in turn, or an evenly spread selection of many tenants.
        const tenant = tenants[(at * 389) % tenants.length] ?? "";
        const text = `${drawWord(world, draw)} ${drawWord(world, draw)}`;
        return { tenant, vector, text, meta: drawMeta(draw) };
      });
    },
  };
}

/** Returns the name of the chunk at this position in its tenant. */
export function keyOf(at: number): string {
  return `d${Math.floor(at / CHUNKS_PER_DOCUMENT)}/${at % CHUNKS_PER_DOCUMENT}`;
}

const KINDS = ["invoice", "receipt", "note", "contract", "letter"];

function drawMeta(draw: Draws): Meta {
  return { kind: KINDS[draw.below(KINDS.length)] ?? "", batch: `b${draw.below(50)}` };
}

interface World {
  readonly centres: Float64Array;
  /** The latent axes in the space of the vectors, concatenated. */
  readonly axes: Float64Array;
  readonly words: readonly string[];
  /** For each word, the cumulative share of all words up to it. */
  readonly shares: Float64Array;
}

function createWorld(): World {
  const draw = createDraws(0x5eed);
  const centres = Float64Array.from({ length: CENTRES * LATENT }, () => draw.normal());
  const axes = Float64Array.from({ length: LATENT * DIMENSIONS }, () => draw.normal() / Math.sqrt(LATENT));
  const shares = new Float64Array(VOCABULARY);
  let sum = 0;
  for (let rank = 0; rank < VOCABULARY; rank++) shares[rank] = sum += 1 / (rank + 1);
  return { centres, axes, words: Array.from({ length: VOCABULARY }, (_, at) => wordOf(at)), shares };
}

function wordOf(at: number): string {
  const syllables = ["ka", "lo", "mi", "nu", "re", "sa", "to", "vi", "pe", "du"];
  let word = "";
  for (let left = at + 100; left > 0; left = Math.floor(left / 10)) word += syllables[left % 10];
  return word;
}

interface Draws {
  /** Returns a number from 0 inclusive to 1 exclusive. */
  uniform(): number;
  normal(): number;
  below(bound: number): number;
}

/** Returns random numbers that depend only on the seed and the stream; neighbouring streams are independent. */
function createDraws(stream: number, part = 1): Draws {
  let [a, b, c, d] = [SEED | 0, stream | 0, (stream ^ 0x9e3779b9) | 0, part];
  function next(): number {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return sum >>> 0;
  }
  for (let skipped = 0; skipped < 15; skipped++) next();
  const uniform = (): number => next() / 2 ** 32;
  let spare: number | undefined;
  return {
    uniform,
    below: (bound) => Math.floor(uniform() * bound),
    normal() {
      if (spare !== undefined) {
        const kept = spare;
        spare = undefined;
        return kept;
      }
      const radius = Math.sqrt(-2 * Math.log(1 - uniform()));
      const angle = 2 * Math.PI * uniform();
      spare = radius * Math.sin(angle);
      return radius * Math.cos(angle);
    },
  };
}

function drawVector({ centres, axes }: World, draw: Draws, into: Float32Array): void {
  const centre = draw.below(CENTRES) * LATENT;
  const sum = new Float64Array(DIMENSIONS);
  for (let axis = 0; axis < LATENT; axis++) {
    const weight = (centres[centre + axis] as number) + SPREAD * draw.normal();
    const from = axis * DIMENSIONS;
    for (let at = 0; at < DIMENSIONS; at++) {
      sum[at] = (sum[at] as number) + weight * (axes[from + at] as number);
    }
  }
  let squares = 0;
  for (let at = 0; at < DIMENSIONS; at++) {
    const value = (sum[at] as number) + NOISE * draw.normal();
    sum[at] = value;
    squares += value * value;
  }
  const length = Math.sqrt(squares);
  for (let at = 0; at < DIMENSIONS; at++) into[at] = (sum[at] as number) / length;
}

function drawWord({ words, shares }: World, draw: Draws): string {
  const wanted = draw.uniform() * (shares[VOCABULARY - 1] as number);
  let [low, high] = [0, VOCABULARY - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((shares[middle] as number) > wanted) high = middle;
    else low = middle + 1;
  }
  return words[low] ?? "";
}
