import { refused } from "./durations.ts";

/**
 * Rejects an id that is not a string. Otherwise all tokens without a session id would share one session.
 *
 * @throws TokenStoreError `ERR_SVC_TOKEN_STORE_ARGUMENT` when it is not a string
 */
export function checkId(name: string, id: string): void {
  if (typeof id !== "string") throw refused(name, "a string", id);
}

/**
 * Checks the ids of a rotation. Rejects an empty nonce, because all requests with it would count as the same request.
 *
 * @throws TokenStoreError `ERR_SVC_TOKEN_STORE_ARGUMENT`
 */
export function checkIds(rotation: Readonly<Record<"jti" | "fam" | "sub" | "nonce", string>>): void {
  for (const name of ["jti", "fam", "sub"] as const) checkId(name, rotation[name]);
  const { nonce } = rotation;
  if (typeof nonce !== "string" || nonce === "") throw refused("nonce", "a string that is not empty", nonce);
}
