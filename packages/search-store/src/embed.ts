import { withDeadline } from "@svc/resilience";
import { checkVector, type Vector, type VectorShape } from "./embedding.ts";
import { SearchError } from "./errors.ts";

/**
 * Computes one embedding per text, in the same order. The signal aborts when the caller cancels or after
 * `embedTimeoutSeconds`; a later result is ignored.
 */
export type Embed = (
  texts: readonly string[],
  info: { readonly signal: AbortSignal },
) => Promise<readonly Vector[]> | readonly Vector[];

/** The options that {@link embedTexts} reads. */
export interface EmbedSettings extends VectorShape {
  readonly embed: Embed | undefined;
  readonly embedBatch: number;
  readonly embedTimeoutSeconds: number;
}

/**
 * Returns one embedding for each text, by calling the store's callback in batches.
 *
 * @throws SearchError `ERR_SVC_SEARCH_EMBED` if there is no callback, or if it fails, hangs or returns a wrong number of
 *   embeddings; `ERR_SVC_SEARCH_VECTOR` for an invalid embedding
 * @throws the reason of `signal` when it aborts
 */
export async function embedTexts(
  options: EmbedSettings,
  texts: readonly string[],
  signal?: AbortSignal,
): Promise<Vector[]> {
  const vectors: Vector[] = [];
  for (let at = 0; at < texts.length; at += options.embedBatch) {
    vectors.push(...(await embedBatch(options, texts.slice(at, at + options.embedBatch), signal)));
  }
  return vectors;
}

/** Returns the embeddings of distinct contents, by their hashes. Throws the same errors as {@link embedTexts}. */
export async function embedContents(
  options: EmbedSettings,
  contents: readonly { readonly hash: string; readonly content: string }[],
  signal: AbortSignal | undefined,
): Promise<ReadonlyMap<string, Vector>> {
  const texts = contents.map(({ content }) => content);
  const vectors = await embedTexts(options, texts, signal);
  return new Map(vectors.map((vector, index) => [contents[index]?.hash ?? "", vector]));
}

async function embedBatch(
  options: EmbedSettings,
  texts: readonly string[],
  signal: AbortSignal | undefined,
): Promise<readonly Vector[]> {
  const { embed, embedTimeoutSeconds } = options;
  if (embed === undefined) {
    throw failed("an embedding is missing: pass one, or set the option embed");
  }
  const call = async (inner: AbortSignal): Promise<readonly Vector[]> => {
    try {
      return await embed(texts, { signal: inner });
    } catch (error) {
      throw new SearchError("ERR_SVC_SEARCH_EMBED", "embed failed", { cause: error });
    }
  };
  const answer = await withDeadline(embedTimeoutSeconds * 1000, call, {
    signal,
    onTimeout() {
      throw failed(`embed took more than ${embedTimeoutSeconds} s`);
    },
  });
  if (!Array.isArray(answer)) throw failed("embed must return an array of embeddings");
  if (answer.length !== texts.length) {
    throw failed(`embed returned ${answer.length} embeddings for ${texts.length} texts`);
  }
  const vectors: readonly Vector[] = answer;
  for (const [index, vector] of vectors.entries()) {
    checkVector(options, vector, `embedding ${index} that embed returned`);
  }
  return vectors;
}

function failed(message: string): SearchError {
  return new SearchError("ERR_SVC_SEARCH_EMBED", message);
}
