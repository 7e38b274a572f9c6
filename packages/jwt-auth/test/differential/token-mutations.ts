import { base64url, nonCanonical } from "../support/forge.ts";
import type { Random } from "../support/random.ts";
import type { Draft } from "./draft.ts";
import { encoded, inserted, type Mutations, odd } from "./mutation.ts";

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

/** Mutations of signed tokens and of their encoding. */
export const tokenMutations: Mutations = {
  none: () => false,

  // Mutations of the token text, after signing.
  "another character in the header": (draft, random) => replaceIn(draft, random, 0),
  "another character in the payload": (draft, random) => replaceIn(draft, random, 1),
  "another character in the signature": (draft, random) => replaceIn(draft, random, 2),
  "cut off": (draft, random) => after(draft, (token) => token.slice(0, random.whole(token.length))),
  "characters cut off at the start": (draft, random) =>
    after(draft, (token) => token.slice(1 + random.whole(token.length - 1))),
  "characters after the token": (draft, random) =>
    after(draft, (token) => token + random.pick(["A", "AAAA", "=", "==", ".", " ", "\n", ";", ","])),
  "an odd character in the token": (draft, random) =>
    after(draft, (token) => inserted(token, random.pick(odd), random)),
  "fewer or more parts": (draft, random) => after(draft, (token) => otherParts(token, random)),
  "parts in another order": (draft, random) =>
    after(draft, (token) => {
      const [a, b, c] = token.split(".");
      return random
        .pick([
          [b, a, c],
          [a, c, b],
          [c, b, a],
          [a, a, c],
          [b, b, c],
        ])
        .join(".");
    }),
  "other case": (draft, random) =>
    after(draft, (token) => random.pick([token.toUpperCase(), token.toLowerCase()])),
  "a signature with other unused bits": (draft) =>
    encoded(draft, "encodedSignature", (part) => (part.length % 4 < 2 ? `${part}=` : nonCanonical(part))),
  "a signature in other bytes": (draft, random) => otherSignature(draft, random),

  // Mutations of the encoding, before signing: the signature covers the changed part.
  "an odd character in the signed payload": (draft, random) =>
    encoded(draft, "encodedPayload", (part) => inserted(part, random.pick(odd), random)),
  "an odd character in the signed header": (draft, random) =>
    encoded(draft, "encodedHeader", (part) => inserted(part, random.pick(odd), random)),
  "a signed payload with other unused bits": (draft) =>
    encoded(draft, "encodedPayload", (part) => (part.length % 4 < 2 ? `${part}=` : nonCanonical(part))),
  "signed padding": (draft) =>
    encoded(draft, "encodedPayload", (part) => `${part}${"=".repeat((4 - (part.length % 4)) % 4 || 1)}`),
  "the base64 alphabet": (draft) => {
    draft.claims["note"] = "~~~???ÿÿÿ>>>";
    return encoded(draft, "encodedPayload", (part) => part.replaceAll("-", "+").replaceAll("_", "/"));
  },
};

function after(draft: Draft, change: (token: string) => string): boolean {
  draft.after.push((token) => {
    const changed = change(token);
    // Never return the token itself, which is valid.
    return changed === token ? `${token}.` : changed;
  });
  return true;
}

function replaceIn(draft: Draft, random: Random, index: number): boolean {
  return after(draft, (token) => {
    const parts = token.split(".");
    const part = parts[index] ?? "";
    const at = random.whole(part.length);
    const others = alphabet.replace(part.charAt(at), "");
    parts[index] = part.slice(0, at) + others.charAt(random.whole(others.length)) + part.slice(at + 1);
    return parts.join(".");
  });
}

function otherParts(token: string, random: Random): string {
  const parts = token.split(".");
  const index = random.whole(3);
  return random.pick([
    () => parts.filter((_, each) => each !== index).join("."),
    () => parts.with(index, "").join("."),
    () => parts.toSpliced(index, 0, parts[index] ?? "").join("."),
    () => [...parts, "", ""].join("."),
    () => parts.join(""),
    () => `${token}.${token}`,
    () => JSON.stringify({ protected: parts[0], payload: parts[1], signature: parts[2] }),
    () => `Bearer ${token}`,
  ])();
}

function otherSignature(draft: Draft, random: Random): boolean {
  draft.forgery.signature = random.pick<(bytes: Buffer) => Uint8Array>([
    (bytes) => Buffer.alloc(bytes.length),
    (bytes) => bytes.subarray(1),
    (bytes) => bytes.subarray(0, -1),
    (bytes) => Buffer.concat([bytes, Buffer.alloc(1)]),
    (bytes) => Buffer.concat([Buffer.alloc(1), bytes]),
    (bytes) => Buffer.from(bytes).reverse(),
    (bytes) => Buffer.concat([bytes.subarray(bytes.length / 2), bytes.subarray(0, bytes.length / 2)]),
    (bytes) => Buffer.from(base64url(bytes)),
    (bytes) => bytes.map((byte) => byte ^ 0xff),
  ]);
  return true;
}
