import type { Embed } from "../embed.ts";
import { checkVector, type VectorShape } from "../embedding.ts";

/**
 * Returns an embedder that fails where a wrong embedding would be the fault of the caller's own vector: so a service answers
 * 503, not 500, while its model returns embeddings of another length.
 */
export function checkedEmbed(embed: Embed, shape: VectorShape): Embed {
  return async (texts, info) => {
    const vectors = await embed(texts, info);
    if (Array.isArray(vectors)) {
      for (const vector of vectors) checkVector(shape, vector, "an embedding that embed returned");
    }
    return vectors;
  };
}
