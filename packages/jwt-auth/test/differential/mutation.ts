import type { Random } from "../support/random.ts";
import type { Draft } from "./draft.ts";

/** Changes a draft. Returns true when the changed token must be refused, regardless of other changes. */
export type Mutation = (draft: Draft, random: Random) => boolean;

/** Kinds of changes by name. */
export type Mutations = Readonly<Record<string, Mutation>>;

/** Characters that are invalid in a part of a token, or that separate parts. */
export const odd = [" ", "\n", "\t", "\r\n", "=", "+", "/", "é", "%20", "\u0000", "Ａ", ".", '"', "\u200b"];

export function inserted(text: string, what: string, random: Random): string {
  const at = random.whole(text.length + 1);
  return text.slice(0, at) + what + text.slice(at);
}

export function encoded(
  draft: Draft,
  part: "encodedHeader" | "encodedPayload" | "encodedSignature",
  change: (part: string) => string,
): boolean {
  draft.forgery[part] = change;
  return true;
}

/** Replaces the text of the payload. */
export function withPayload(draft: Draft, text: string | Uint8Array): boolean {
  draft.forgery.rawPayload = text;
  return true;
}
