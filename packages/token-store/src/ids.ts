import { refused } from "./durations.ts";

/**
 * Refuses what is no id: a token of a session without a name would otherwise share that session with all others.
 *
 * @throws TokenStoreError `ERR_SVC_TOKEN_STORE_ARGUMENT` when it is no string
 */
export function checkId(name: string, id: string): void {
  if (typeof id !== "string") throw refused(name, "a string", id);
}

/**
 * What a rotation must name. An empty nonce is none: every request would be taken for the winner's.
 *
 * @throws TokenStoreError `ERR_SVC_TOKEN_STORE_ARGUMENT`
 */
export function checkIds(rotation: Readonly<Record<"jti" | "fam" | "sub" | "nonce", string>>): void {
  for (const name of ["jti", "fam", "sub"] as const) checkId(name, rotation[name]);
  const { nonce } = rotation;
  if (typeof nonce !== "string" || nonce === "") throw refused("nonce", "a string that is not empty", nonce);
}
