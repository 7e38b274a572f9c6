import { constants, createHmac, type KeyObject, sign as signBytes } from "node:crypto";
import type { Algorithm } from "../../src/algorithms.ts";
import { keyFor } from "./key-fixtures.ts";

/** The current time of all tests, in seconds since the Unix epoch. */
export const nowSeconds = 1_800_000_000;

/** The current time as the option `now` of a verifier. */
export const now = (): number => nowSeconds * 1000;

/** Valid claims. */
export const goodClaims: Readonly<Record<string, unknown>> = {
  sub: "ada",
  iat: nowSeconds - 60,
  exp: nowSeconds + 900,
};

/** Describes the token to make; an omitted member has its valid value. */
export interface Forgery {
  /** Algorithm that signs, independent of the header. Default: RS256. */
  readonly algorithm?: Algorithm | undefined;
  /** Key that signs. Default: the fixture key of the algorithm. */
  readonly key?: KeyObject | undefined;
  /** Merged into `{alg, typ}`; undefined removes a member. */
  readonly header?: Readonly<Record<string, unknown>> | undefined;
  /** Replaces the bytes or text of the header. */
  readonly rawHeader?: string | Uint8Array | undefined;
  /** Merged into `goodClaims`; undefined removes a member. */
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
  /** Replaces the bytes or text of the payload. */
  readonly rawPayload?: string | Uint8Array | undefined;
  /** Changes an encoded part before signing: the signature covers the changed part. */
  readonly encodedHeader?: ((part: string) => string) | undefined;
  readonly encodedPayload?: ((part: string) => string) | undefined;
  /** Changes the signature's bytes. */
  readonly signature?: ((bytes: Buffer) => Uint8Array) | undefined;
  /** Changes the encoded signature. */
  readonly encodedSignature?: ((part: string) => string) | undefined;
}

/** Makes a signed token with the given defects. */
export function forge(forgery: Forgery = {}): string {
  const { algorithm = "RS256", key = keyFor(algorithm).privateKey } = forgery;
  const header = forgery.rawHeader ?? JSON.stringify({ alg: algorithm, typ: "JWT", ...forgery.header });
  const payload = forgery.rawPayload ?? JSON.stringify({ ...goodClaims, ...forgery.claims });
  const first = applied(forgery.encodedHeader, base64url(header));
  const second = applied(forgery.encodedPayload, base64url(payload));
  const bytes = signatureOf(algorithm, key, `${first}.${second}`);
  const third = applied(
    forgery.encodedSignature,
    base64url(applied<Uint8Array, Buffer>(forgery.signature, bytes)),
  );
  return `${first}.${second}.${third}`;
}

/** Signs a string as in RFC 7518 and RFC 8037. */
export function signatureOf(algorithm: Algorithm, key: KeyObject, text: string): Buffer {
  const hash = `sha${algorithm.slice(2)}`;
  if (algorithm.startsWith("HS")) return createHmac(hash, key).update(text).digest();
  const input = Buffer.from(text);
  if (algorithm === "EdDSA") return signBytes(null, input, key);
  if (algorithm.startsWith("ES")) return signBytes(hash, input, { key, dsaEncoding: "ieee-p1363" });
  if (algorithm.startsWith("RS")) return signBytes(hash, input, key);
  const { RSA_PKCS1_PSS_PADDING: padding, RSA_PSS_SALTLEN_DIGEST: saltLength } = constants;
  return signBytes(hash, input, { key, padding, saltLength });
}

export function base64url(value: string | Uint8Array): string {
  return Buffer.from(value).toString("base64url");
}

/** Returns the three parts of a compact token. */
export function partsOf(token: string): [header: string, payload: string, signature: string] {
  const [header = "", payload = "", signature = ""] = token.split(".");
  return [header, payload, signature];
}

/**
 * Replaces the last character by another character that decodes to the same bytes, with unused bits set. Throws for a part
 * without unused bits.
 */
export function nonCanonical(part: string): string {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  if (part.length % 4 < 2) throw new Error("no bits are left over in this part");
  const last = alphabet.indexOf(part.at(-1) ?? "");
  return part.slice(0, -1) + alphabet.charAt(last | 1);
}

/** A payload whose encoding has unused bits, for use with `nonCanonical`. */
export function paddedClaims(remainder: 1 | 2, claims: Readonly<Record<string, unknown>> = {}): string {
  const text = JSON.stringify({ ...goodClaims, ...claims });
  return text + " ".repeat((3 + remainder - (text.length % 3)) % 3);
}

function applied<Out, In extends Out = Out>(change: ((value: In) => Out) | undefined, value: In): Out {
  return change === undefined ? value : change(value);
}
