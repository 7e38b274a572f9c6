import { MAX_TEXT } from "../attributes.ts";
import { statementTokens } from "./statement-tokens.ts";

/**
 * Returns SQL text with `?` for each literal and a space for each comment and other white space, cut at 256 characters
 * (TRACE-15, TRACE-26). Parameters such as `$1` and identifiers are unchanged.
 */
export function redactStatement(text: string): string {
  const redacted: string[] = [];
  let gap = false;
  for (const { kind, start, end } of statementTokens(text)) {
    if (kind === "space") {
      gap = redacted.length > 0;
      continue;
    }
    // Read no more than the limit needs: a character has at most two code units.
    const piece =
      kind === "literal" ? ["?"] : Array.from(text.slice(start, Math.min(end, start + 2 * MAX_TEXT + 2)));
    const room = MAX_TEXT - redacted.length - (gap ? 1 : 0);
    // A truncated quoted identifier would look like an unterminated literal.
    if (room <= 0 || (kind === "quoted" && piece.length > room)) break;
    if (gap) redacted.push(" ");
    redacted.push(...piece.slice(0, room));
    gap = false;
  }
  return redacted.join("");
}
