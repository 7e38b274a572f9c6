/** The supported signature algorithms (AUTH-26), without `none` (AUTH-4). */
export const algorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "HS256",
  "HS384",
  "HS512",
] as const;

/** A signature algorithm of RFC 7518 or RFC 8037. */
export type Algorithm = (typeof algorithms)[number];

/** Returns whether an algorithm uses one shared secret to sign and to verify. */
export function isSymmetric(algorithm: Algorithm): boolean {
  return algorithm.startsWith("HS");
}
