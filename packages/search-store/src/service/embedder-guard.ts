import type { Embed } from "../embed.ts";
import { checkVector, type VectorShape } from "../embedding.ts";

/**
 * Returns an embedder that rejects a wrong embedding as its own fault. Otherwise the store would report it as the fault of the
 * caller's vector, and a service would answer 500, not 503, while its model returns embeddings of another length.
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
