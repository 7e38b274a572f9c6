import type { Embed } from "@svc/search-store";

/** Returns a deterministic embedder of three dimensions that records its calls. */
export function recordingEmbedder(): { readonly embed: Embed; readonly asked: string[][] } {
  const asked: string[][] = [];
  return {
    asked,
    embed(texts) {
      asked.push([...texts]);
      return Promise.resolve(texts.map(embedded));
    },
  };
}

/** Returns a deterministic embedding computed from the letters of a text; never all zeros. */
export function embedded(text: string): number[] {
  const count = (letters: RegExp): number => text.match(letters)?.length ?? 0;
  return [1 + count(/[a-g]/gi), 1 + count(/[h-p]/gi), 1 + count(/[q-z]/gi)];
}
