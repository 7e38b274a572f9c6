import type { KeyObject, webcrypto } from "node:crypto";
import { types } from "node:util";
import { kinds as k } from "@svc/options";
import type { JWK } from "jose";
import type { KeySource } from "./key-source.ts";
import { isObject, type UnverifiedHeader } from "./token-parser.ts";

/** A public key as a JSON Web Key (RFC 7517). */
export type Jwk = JWK;

/** A JWK set (RFC 7517) that is not fetched. */
export interface JwkSet {
  readonly keys: readonly Jwk[];
}

/**
 * A key that verifies tokens: a `KeyObject`, a `CryptoKey`, a JWK, a JWK set, or a PEM of a public key or a certificate. A
 * shared secret must be a `KeyObject` of type `secret`.
 */
export type VerificationKey = KeyObject | webcrypto.CryptoKey | Jwk | JwkSet | string;

/** Returns the key that must have signed a token with this header, or undefined if there is none. */
export type KeyFunction = (
  header: UnverifiedHeader,
  call: KeyCall,
) => VerificationKey | undefined | Promise<VerificationKey | undefined>;

/** The second argument of a {@link KeyFunction}. */
export interface KeyCall {
  /** Aborts at the timeout of the call, when its token has been refused; pass it to `fetch` and the like. */
  readonly signal: AbortSignal;
}

// Secret, because the value may be a private key by mistake.
/** Kind of an option that takes a key source, a key, or a function that returns a key. */
export const keysKind: k.Kind<KeySource | VerificationKey | KeyFunction> = {
  expects:
    "a key source (an object with find()), a KeyObject, a CryptoKey, a JWK, a JWK set, a PEM or a function",
  secret: true,
  accepts: (value): value is KeySource | VerificationKey | KeyFunction =>
    typeof value === "string" || typeof value === "function" || isKeySource(value) || isKey(value),
};

/** Returns whether a value is a key source, not a key. */
export function isKeySource(value: unknown): value is KeySource {
  if ((typeof value !== "object" || value === null) && typeof value !== "function") return false;
  // Arrays and buffers have a method find() as well.
  if (Array.isArray(value) || ArrayBuffer.isView(value)) return false;
  return typeof (value as Partial<KeySource>).find === "function";
}

function isKey(value: unknown): boolean {
  if (types.isKeyObject(value) || types.isCryptoKey(value)) return true;
  return isObject(value) && (Object.hasOwn(value, "kty") || Object.hasOwn(value, "keys"));
}
