const longest = 600;

/**
 * Splits a text into the pieces that are searched: paragraphs, and for a long paragraph its sentences and words, each at
 * most 600 characters long. A change in one paragraph leaves the pieces of the others unchanged, so only new pieces need an
 * embedding.
 */
export function piecesOf(text: string): readonly string[] {
  return text
    .split(/\r?\n\s*\n/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== "")
    .flatMap((paragraph) => (paragraph.length <= longest ? [paragraph] : packed(sentencesOf(paragraph))));
}

function sentencesOf(paragraph: string): readonly string[] {
  return paragraph
    .split(/(?<=[.!?])\s+/)
    .flatMap((sentence) =>
      sentence.length <= longest ? [sentence] : packed(sentence.split(/\s+/).flatMap(cut)),
    );
}

/** Splits a word that is too long between characters, and never within one. */
function cut(word: string): readonly string[] {
  return word.length <= longest ? [word] : (word.match(new RegExp(`[^]{1,${longest / 2}}`, "gu")) ?? []);
}

/** Joins as many parts as fit into a piece. */
function packed(parts: readonly string[]): readonly string[] {
  const pieces: string[] = [];
  let piece = "";
  for (const part of parts) {
    const both = piece === "" ? part : `${piece} ${part}`;
    if (both.length <= longest) piece = both;
    else {
      pieces.push(piece);
      piece = part;
    }
  }
  return piece === "" ? pieces : [...pieces, piece];
}
