import type { ReadinessCheck } from "@svc/context";
import type { Algorithm, KeySource } from "@svc/jwt-auth";

/** Where a signing key stands: announced, in use, verifying only, gone. */
export type KeyState = "next" | "current" | "previous" | "retired";

/** What may be told about a key of a ring: nothing of the key itself. Dates are ISO 8601, in UTC. */
export interface KeyNote {
  /** The thumbprint of the key (RFC 7638, SHA-256). */
  readonly kid: string;
  readonly algorithm: Algorithm;
  readonly state: KeyState;
  /** When it was put into the ring, and published with it. */
  readonly publishedAt: string;
  /** When it began to sign. */
  readonly promotedAt?: string | undefined;
  /** When another one took its place. */
  readonly replacedAt?: string | undefined;
  /** When it was taken out. */
  readonly retiredAt?: string | undefined;
  /** The earliest moment at which it may be promoted (`next`) or retired (`previous`). */
  readonly dueAt?: string | undefined;
}

/** The key that signs now. */
export interface Signer {
  /** The thumbprint of the key (RFC 7638), which every token names in its header (ISS-12). */
  readonly kid: string;
  readonly algorithm: Algorithm;
  /**
   * A signed token (JWS, compact) with these claims as they are. HMAC, ES256 and EdDSA sign at once; the others, whose
   * signatures take longer, beside the main thread, with a promise.
   */
  sign(claims: object): string | Promise<string>;
  /** The signature of bytes, as RFC 7518 writes it. */
  signBytes(bytes: Uint8Array): Buffer | Promise<Buffer>;
}

/** A public key as it is published (RFC 7517). */
export type PublicJwk = Readonly<Record<string, string>>;

/** The key set as `GET /.well-known/jwks.json` answers it (ISS-15). The same object until the ring changes. */
export interface PublishedKeySet {
  /** Public members only, sorted by kid, each with `use`, `alg` and `kid`. */
  readonly keys: readonly PublicJwk[];
  /** `{"keys": [...]}` as text. */
  readonly body: string;
  /** A strong entity tag of the body, quotes included. */
  readonly etag: string;
  /** `public, max-age=60`. */
  readonly cacheControl: string;
}

/** How long tokens of a ring live: a replaced key stays for that time. In seconds. */
export interface Lifetimes {
  readonly accessSeconds: number;
  readonly refreshSeconds: number;
  readonly leewaySeconds: number;
}

/** The signing keys of an issuer, which verify what they signed too. */
export interface KeyRing extends KeySource, AsyncDisposable {
  /** Goes up whenever the keys change. */
  readonly generation: number;
  /** All of the family of the keys (symmetric or not), so that the algorithm can change with a key. */
  readonly algorithms: readonly Algorithm[];
  /** For how long keys are kept; the issuer's lifetimes must not be longer. */
  readonly lifetimes: Lifetimes;
  /** The key that signs now. The same object until the ring changes; ask again for each token. */
  signer(): Signer;
  /** The public keys that are next, current and previous. Undefined with secrets, which are never published. */
  jwks(): PublishedKeySet | undefined;
  /** What may be told of the keys, the current one first. */
  list(): readonly KeyNote[];
  /**
   * Takes another text of a ring, from a secret store that pushes.
   *
   * @throws KeyRingError when it cannot be used; the ring stays as it was
   */
  load(text: string): void;
  /** Named `signing-keys`, never critical: the age of the current key, and whether its file can be read. */
  readiness(): ReadinessCheck;
  /** Ends the watching of the file. */
  stop(): void;
}
