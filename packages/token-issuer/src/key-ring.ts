import type { ReadinessCheck } from "@svc/context";
import type { Algorithm, KeySource } from "@svc/jwt-auth";

/** State of a signing key: announced, signing, verifying only, removed. */
export type KeyState = "next" | "current" | "previous" | "retired";

/** The public facts about a key of a ring, without the key. Dates are ISO 8601, in UTC. */
export interface KeyNote {
  /** The thumbprint of the key (RFC 7638, SHA-256). */
  readonly kid: string;
  readonly algorithm: Algorithm;
  readonly state: KeyState;
  /** Time at which it was added to the ring and published. */
  readonly publishedAt: string;
  /** Time at which it began to sign. */
  readonly promotedAt?: string | undefined;
  /** Time at which another key replaced it. */
  readonly replacedAt?: string | undefined;
  /** Time at which it was removed. */
  readonly retiredAt?: string | undefined;
  /** The earliest time at which it may be promoted (`next`) or retired (`previous`). */
  readonly dueAt?: string | undefined;
}

/** The key that signs now. */
export interface Signer {
  /** The thumbprint of the key (RFC 7638), which every token names in its header (ISS-12). */
  readonly kid: string;
  readonly algorithm: Algorithm;
  /** Length of a signature in bytes, which limits the claims of a token. Default: at most 600. */
  readonly signatureBytes?: number | undefined;
  /**
   * Returns a signed token (JWS, compact) with exactly these claims. HMAC, ES256 and EdDSA return it immediately; slower
   * algorithms sign in the thread pool and return a promise.
   */
  sign(claims: object): string | Promise<string>;
  /** Returns the signature of bytes in the format of RFC 7518. */
  signBytes(bytes: Uint8Array): Buffer | Promise<Buffer>;
}

/** A public key as it is published (RFC 7517). */
export type PublicJwk = Readonly<Record<string, string>>;

/** The key set that `GET /.well-known/jwks.json` returns (ISS-15). The same object until the ring changes. */
export interface PublishedKeySet {
  /** Public members only, sorted by kid, each with `use`, `alg` and `kid`. */
  readonly keys: readonly PublicJwk[];
  /** `{"keys": [...]}` as a string. */
  readonly body: string;
  /** A strong entity tag of the body, quotes included. */
  readonly etag: string;
  /** `public, max-age=60`. */
  readonly cacheControl: string;
}

/** Token lifetimes in seconds, which determine how long a ring keeps a replaced key. */
export interface Lifetimes {
  readonly accessSeconds: number;
  readonly refreshSeconds: number;
  readonly leewaySeconds: number;
}

/** The signing keys of an issuer, which also verify its tokens. */
export interface KeyRing extends KeySource, AsyncDisposable {
  /** A number that increases whenever the keys change. */
  readonly generation: number;
  /** All algorithms of the family of the keys (symmetric or not), so a new key may have another algorithm. */
  readonly algorithms: readonly Algorithm[];
  /** Lifetimes that determine how long replaced keys stay. The issuer's lifetimes must not be longer. */
  readonly lifetimes: Lifetimes;
  /** Returns the key that signs now. The same object until the ring changes, so call it for each token. */
  signer(): Signer;
  /** Returns the public keys in the states next, current and previous; undefined for secrets, which are never published. */
  jwks(): PublishedKeySet | undefined;
  /** Returns the public facts about the keys, the current one first. */
  list(): readonly KeyNote[];
  /**
   * Replaces the ring with the one in `text`, for a secret store that pushes changes.
   *
   * @throws KeyRingError when the text cannot be used; the ring stays unchanged
   */
  load(text: string): void;
  /**
   * Returns the check `signing-keys`, which is never critical. It reports the current key's age and whether the file can be
   * used.
   */
  readiness(): ReadinessCheck;
  /** Stops watching the file. */
  stop(): void;
}
