import { contentMutations } from "./content-mutations.ts";
import type { Mutations } from "./mutation.ts";
import { textMutations } from "./text-mutations.ts";
import { tokenMutations } from "./token-mutations.ts";

/** Everything that is done to tokens. */
export const mutations: Mutations = { ...tokenMutations, ...textMutations, ...contentMutations };

export const kinds: readonly string[] = Object.keys(mutations);

/** Those that change what is signed, and that another one of them may follow. */
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
  "much in it",
  "a name that looks alike",
];
