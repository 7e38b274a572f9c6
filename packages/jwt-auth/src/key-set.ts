import { KeyObject } from "node:crypto";
import { importJWK, type JWK } from "jose";
import type { Algorithm } from "./algorithms.ts";
import { keyFault } from "./key-check.ts";
import { KeySetError } from "./key-set-error.ts";
import { isObject, MAX_KID_LENGTH, own } from "./token-parser.ts";

/** A key that may verify tokens. */
export interface UsableKey {
  readonly kid: string | undefined;
  /** The algorithms that the key fits; for a key of a fetched set, at least one of the configured algorithms. */
  readonly algorithms: readonly Algorithm[];
  /** The JSON of a public JWK, equal for equal keys; empty for a single key in another form. */
  readonly material: string;
  readonly key: KeyObject;
}

/** An immutable set of keys; a refresh replaces the whole set. */
export interface KeySet {
  /** Number of usable keys. */
  readonly size: number;
  /** A string that is equal for sets with the same keys and ids, in any order. */
  readonly identity: string;
  /** Returns whether a key has this id. */
  has(kid: string): boolean;
  /** Returns the key for a token. Allocates no memory, because it runs for every token. */
  find(kid: string | undefined, algorithm: Algorithm): KeyObject | undefined;
  /** Returns the key object of the key with this `material`, or undefined. */
  known(material: string): KeyObject | undefined;
}

type ByAlgorithm = ReadonlyMap<Algorithm, KeyObject>;

/** Builds a set. Uses the first of two keys for the same id and algorithm. */
export function keySetOf(keys: readonly UsableKey[]): KeySet {
  const byKid = new Map<string, Map<Algorithm, KeyObject>>();
  const materials = new Map<string, KeyObject>();
  const lines = new Set<string>();
  let first: ByAlgorithm | undefined;

  for (const { kid, algorithms, material, key } of keys) {
    const taken = kid === undefined ? undefined : byKid.get(kid);
    const free = algorithms.filter((algorithm) => taken?.has(algorithm) !== true);
    const line = JSON.stringify([kid ?? null, free, material]);
    if (free.length === 0 || lines.has(line)) continue;
    lines.add(line);
    materials.set(material, key);
    const own = taken ?? new Map<Algorithm, KeyObject>();
    for (const algorithm of free) own.set(algorithm, key);
    first ??= own;
    if (kid !== undefined) byKid.set(kid, own);
  }
  // A token without a kid matches only when the set has exactly one key (KEY-11).
  const only = lines.size === 1 ? first : undefined;

  return {
    size: lines.size,
    identity: [...lines].toSorted().join("\n"),
    has: (kid) => byKid.has(kid),
    find: (kid, algorithm) => (kid === undefined ? only : byKid.get(kid))?.get(algorithm),
    known: (material) => materials.get(material),
  };
}

/** The empty set, in use before the first fetch. */
export const noKeys: KeySet = keySetOf([]);

/** Maximum number of keys imported from one set; further keys are skipped. */
export const MOST_KEYS = 64;

const BASE64URL = /^[A-Za-z0-9_-]+$/;
// The length of 16,384 bits and a leading zero byte. Longer keys are refused, so they are not kept in memory.
const MOST_NUMBER_CHARACTERS = 2_732;
// Private members of RFC 7518; a key with one of them was published by mistake.
const PRIVATE = ["d", "p", "q", "dp", "dq", "qi", "oth", "k", "priv"] as const;

// An RSA key fits all RSA algorithms; any other key fits the algorithm of its curve.
const BY_KIND: ReadonlyMap<string, readonly Algorithm[]> = new Map([
  ["RSA", ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"]],
  ["EC P-256", ["ES256"]],
  ["EC P-384", ["ES384"]],
  ["EC P-521", ["ES512"]],
  ["OKP Ed25519", ["EdDSA"]],
] as const);

type Members = Readonly<Record<string, unknown>>;

/** A key that looks usable and is not imported yet. */
export interface Candidate {
  readonly kid: string | undefined;
  readonly algorithms: readonly Algorithm[];
  /** Only the members that define the public key. */
  readonly jwk: JWK;
}

/**
 * Imports a JWK set (RFC 7517). Skips each key that cannot verify one of the algorithms (KEY-12, AUTH-25, AUTH-26).
 * Reuses the key object of an unchanged key.
 *
 * @throws KeySetError when the document is not a key set, or has no usable key
 */
export async function keySetFromJwks(
  document: unknown,
  algorithms: readonly Algorithm[],
  before: KeySet,
): Promise<KeySet> {
  const entries = isObject(document) ? document["keys"] : undefined;
  if (!Array.isArray(entries)) throw new KeySetError("the response is not a key set");
  const candidates: Candidate[] = [];
  for (const entry of entries as readonly unknown[]) {
    const candidate = isObject(entry) ? candidateOf(entry, algorithms) : undefined;
    if (candidate !== undefined) candidates.push(candidate);
    if (candidates.length === MOST_KEYS) break;
  }
  const imported = await Promise.all(candidates.map((candidate) => usable(candidate, before)));
  const set = keySetOf(imported.filter((key) => key !== undefined));
  if (set.size === 0) throw new KeySetError("the key set has no usable key");
  return set;
}

/** Returns a JWK that may verify tokens of the allowed algorithms; undefined for any other JWK. */
export function candidateOf(entry: Members, allowed: readonly Algorithm[]): Candidate | undefined {
  const { use, kid, key_ops: operations } = entry;
  const alg = algorithmNamed(entry["alg"]);
  if (use !== undefined && use !== "sig") return undefined;
  if (operations !== undefined && !(Array.isArray(operations) && operations.includes("verify"))) {
    return undefined;
  }
  if (kid !== undefined && (typeof kid !== "string" || kid.length > MAX_KID_LENGTH)) return undefined;
  if (isPrivateJwk(entry)) return undefined;
  const { kty, crv, n, e, x, y } = entry;
  const fitting = BY_KIND.get(kindOf(kty, crv)) ?? [];
  const algorithms = fitting.filter((each) => allowed.includes(each) && (alg === undefined || alg === each));
  const jwk = publicMembers({ kty, crv, n, e, x, y });
  return algorithms.length === 0 || jwk === undefined ? undefined : { kid, algorithms, jwk };
}

/** Returns the `alg` of a JWK by the name that tokens use; Node.js exports keys with the `alg` of RFC 9864. */
export function algorithmNamed(alg: unknown): unknown {
  return alg === "Ed25519" ? "EdDSA" : alg;
}

/** Returns whether a JWK has a private or secret member. Ignores a member that is undefined, which JSON omits. */
export function isPrivateJwk(entry: Members): boolean {
  return PRIVATE.some((name) => own(entry, name) !== undefined);
}

// Check the types before building a string: converting an object could throw, and one bad key would make the whole
// import fail.
function kindOf(kty: unknown, crv: unknown): string {
  if (kty === "RSA") return kty;
  return typeof kty === "string" && typeof crv === "string" ? `${kty} ${crv}` : "";
}

/** Returns the public members in a fixed order, so that equal keys have equal JSON. */
function publicMembers({ kty, crv, n, e, x, y }: Members): JWK | undefined {
  if (kty === "RSA") return isNumber(n) && isNumber(e) ? { kty, n, e } : undefined;
  if (typeof crv !== "string" || !isNumber(x)) return undefined;
  if (kty === "OKP") return { kty, crv, x };
  return kty === "EC" && isNumber(y) ? { kty, crv, x, y } : undefined;
}

async function usable({ kid, algorithms, jwk }: Candidate, before: KeySet): Promise<UsableKey | undefined> {
  const material = JSON.stringify(jwk);
  const key = before.known(material) ?? (await imported(jwk, algorithms[0]));
  if (key === undefined) return undefined;
  const sound = algorithms.filter((each) => keyFault(key, each) === undefined);
  return sound.length === 0 ? undefined : { kid, algorithms: sound, material, key };
}

async function imported(jwk: JWK, algorithm: Algorithm | undefined): Promise<KeyObject | undefined> {
  try {
    const key = await importJWK(jwk, algorithm, { extractable: true });
    return key instanceof Uint8Array ? undefined : KeyObject.from(key);
  } catch {
    // Skip a broken key, such as a point outside its curve; the other keys remain usable.
    return undefined;
  }
}

function isNumber(value: unknown): value is string {
  return typeof value === "string" && value.length <= MOST_NUMBER_CHARACTERS && BASE64URL.test(value);
}
