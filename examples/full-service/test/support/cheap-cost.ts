import type { ScryptCost } from "../../src/passwords.ts";

/** The lowest cost of scrypt, because the tests sign in often. */
export const cheapCost: ScryptCost = { N: 16, r: 1, p: 1 };
