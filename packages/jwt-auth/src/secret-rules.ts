import { createPrivateKey, createPublicKey, X509Certificate } from "node:crypto";
import type { EnvironmentName } from "@svc/options";

/** Shortest HMAC secret in `prod`, in bytes (AUTH-31). */
export const MIN_SECRET_BYTES = 32;

/**
 * Returns why a value must not be an HMAC secret, or undefined. Rejects an empty value, a value too short for `prod`
 * (AUTH-31) and, in every environment, a key for another mode (PEM, SSH, JWK, DER), whose public half clients know
 * (AUTH-32).
 */
export function secretFault(secret: string | Uint8Array, env: EnvironmentName): string | undefined {
  const bytes = Buffer.from(secret);
  const text = bytes.toString("utf8").replaceAll("\0", "").trim();
  if (text === "") return "is empty";
  const what = keyKind(bytes, text);
  if (what !== undefined)
    return `is ${what}, not a shared secret; use mode public_key or jwks for public keys`;
  if (env !== "prod" || bytes.length >= MIN_SECRET_BYTES) return undefined;
  return `has ${bytes.length} bytes; in prod it needs at least ${MIN_SECRET_BYTES} random bytes`;
}

function keyKind(bytes: Buffer, text: string): string | undefined {
  if (/-----\s*BEGIN/i.test(text)) return "a PEM";
  if (/^(?:ssh-|ecdsa-sha2-|sk-ssh-|sk-ecdsa-)/i.test(text)) return "an SSH key";
  if (isJwk(text)) return "a JSON Web Key";
  if (isDer(bytes)) return "a DER key";
  return encodings(text).some((decoded) => keyKindOfDecoded(decoded)) ? "an encoded key" : undefined;
}

function keyKindOfDecoded(decoded: Buffer): boolean {
  const text = decoded.toString("latin1").trim();
  return /-----\s*BEGIN/i.test(text) || isJwk(text) || isDer(decoded);
}

function encodings(text: string): Buffer[] {
  const compact = text.replaceAll(/\s|\\r|\\n/g, "");
  const found: Buffer[] = [];
  if (/^[0-9a-f]+$/i.test(compact)) found.push(Buffer.from(compact, "hex"));
  // Node's "base64" also decodes the URL-safe alphabet.
  if (/^[\w+/-]+={0,2}$/.test(compact)) found.push(Buffer.from(compact, "base64"));
  return found;
}

function isJwk(text: string): boolean {
  if (!text.startsWith("{")) return false;
  try {
    const value = JSON.parse(text) as Readonly<Record<string, unknown>>;
    return Object.hasOwn(value, "kty") || Object.hasOwn(value, "keys");
  } catch {
    return false;
  }
}

function isDer(bytes: Buffer): boolean {
  // Every DER key and certificate is a SEQUENCE, so skip the attempts for data of any other type.
  if (bytes[0] !== 0x30) return false;
  return [
    () => createPublicKey({ key: bytes, format: "der", type: "spki" }),
    () => createPublicKey({ key: bytes, format: "der", type: "pkcs1" }),
    () => createPrivateKey({ key: bytes, format: "der", type: "pkcs8" }),
    () => createPrivateKey({ key: bytes, format: "der", type: "pkcs1" }),
    () => createPrivateKey({ key: bytes, format: "der", type: "sec1" }),
    () => new X509Certificate(bytes),
  ].some((read) => {
    try {
      read();
      return true;
    } catch {
      return false;
    }
  });
}
