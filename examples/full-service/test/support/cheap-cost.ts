import type { ScryptCost } from "../../src/passwords.ts";

/** As little as scrypt takes: the tests sign in often. */
export const cheapCost: ScryptCost = { N: 16, r: 1, p: 1 };
