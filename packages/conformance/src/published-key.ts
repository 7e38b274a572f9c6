import { constants, createPublicKey, type JsonWebKey, verify } from "node:crypto";

/** Whether a published key has signed a token; false for an unusable key. */
export function hasSigned(jwk: Readonly<Record<string, unknown>>, token: string, algorithm: string): boolean {
  const end = token.lastIndexOf(".");
  const bytes = Buffer.from(token.slice(0, end));
  const signature = Buffer.from(token.slice(end + 1), "base64url");
  try {
    const key = createPublicKey({ key: jwk as JsonWebKey, format: "jwk" });
    if (algorithm === "EdDSA") return verify(null, bytes, key, signature);
    const hash = `sha${algorithm.slice(2)}`;
    if (algorithm.startsWith("ES")) return verify(hash, bytes, { key, dsaEncoding: "ieee-p1363" }, signature);
    if (algorithm.startsWith("PS")) {
      const saltLength = constants.RSA_PSS_SALTLEN_DIGEST;
      return verify(hash, bytes, { key, padding: constants.RSA_PKCS1_PSS_PADDING, saltLength }, signature);
    }
    return verify(hash, bytes, key, signature);
  } catch {
    return false;
  }
}
