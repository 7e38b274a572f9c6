const longest = 600;

/**
 * Cuts a text into the pieces that are searched for: paragraphs, and where one is long its sentences and words, so that none
 * is longer than 600 characters. A change in one paragraph leaves the pieces of the others as they are, and only
 * the new ones need an embedding.
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

/** A word that is no word: cut between characters, never within one. */
function cut(word: string): readonly string[] {
  return word.length <= longest ? [word] : (word.match(new RegExp(`[^]{1,${longest / 2}}`, "gu")) ?? []);
}

/** As many together as fit. */
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
