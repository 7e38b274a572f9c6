import { contentMutations } from "./content-mutations.ts";
import type { Mutations } from "./mutation.ts";
import { textMutations } from "./text-mutations.ts";
import { tokenMutations } from "./token-mutations.ts";

/** All mutations of tokens. */
export const mutations: Mutations = { ...tokenMutations, ...textMutations, ...contentMutations };

export const kinds: readonly string[] = Object.keys(mutations);

/** Mutations of the signed content that can be combined with each other. */
export const combinable: readonly string[] = [
  "crit",
  "b64",
  "kid",
  "typ of the header",
  "exp",
  "iat",
  "nbf",
  "fractions of a second",
  "a claim missing",
  "sub",
  "jti or fam",
  "iss",
  "aud",
  "a refresh token",
  "a large payload",
  "a claim name that looks alike",
];
