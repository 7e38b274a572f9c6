import { createHmac, type KeyObject, sign } from "node:crypto";

/** The key that signs a token: a shared secret for HS256, a private key for RS256, ES256 or EdDSA. */
export type SigningKey = string | KeyObject;

/**
 * Signs a token as an issuer would. `iat` defaults to now and `exp` to 15 minutes later. Omits a claim that is undefined.
 */
export function signToken(
  claims: Readonly<Record<string, unknown>>,
  key: SigningKey,
  header: Readonly<Record<string, unknown>> = {},
): string {
  const now = Math.floor(Date.now() / 1000);
  const alg = typeof key === "string" ? "HS256" : algorithmOf(key);
  const input = [
    { alg, typ: "JWT", ...header },
    { sub: "somebody", iat: now, exp: now + 900, ...claims },
  ]
    .map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"))
    .join(".");
  return `${input}.${signatureOf(input, key, alg)}`;
}

function signatureOf(input: string, key: SigningKey, alg: string): string {
  if (typeof key === "string") return createHmac("sha256", key).update(input).digest("base64url");
  const digest = alg === "EdDSA" ? null : "sha256";
  return sign(digest, Buffer.from(input), { key, dsaEncoding: "ieee-p1363" }).toString("base64url");
}

function algorithmOf(key: KeyObject): string {
  if (key.asymmetricKeyType === "rsa") return "RS256";
  return key.asymmetricKeyType === "ec" ? "ES256" : "EdDSA";
}
