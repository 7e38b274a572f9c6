import { createPublicKey, KeyObject, type webcrypto } from "node:crypto";
import { types } from "node:util";
import type { EnvironmentName } from "@svc/options";
import { type Algorithm, algorithms as allAlgorithms, isSymmetric } from "./algorithms.ts";
import { keyFault } from "./key-check.ts";
import { type Candidate, candidateOf, isPrivateJwk, MOST_KEYS, type UsableKey } from "./key-set.ts";
import { readPem } from "./pem-source.ts";
import { secretFault } from "./secret-rules.ts";
import { isObject, own } from "./token-parser.ts";

/** What a {@link KeyReader} has read. */
export interface ReadKeys {
  /** Each key with all algorithms that it fits; a single key may fit no algorithm. */
  readonly keys: readonly UsableKey[];
  /** Whether the value was a single key, not a set. */
  readonly single: boolean;
  /** Whether the set has more keys that look usable than are read. */
  readonly cut: boolean;
}

/** Reads a key of any form. Returns a string that says what is wrong with the value, without showing it. */
export type KeyReader = (given: unknown) => ReadKeys | string;

// Limits the memory of keys that a function returns as text; reading a key again is only slower.
const MOST_TEXTS = 1_000;
const MOST_TEXT_CHARACTERS = 8_192;

type Members = Readonly<Record<string, unknown>>;

const asymmetric = allAlgorithms.filter((each) => !isSymmetric(each));

const SECRET = "use a KeyObject of type secret";

/**
 * Creates a reader of keys. It returns the same key object for the same key, because the verifier remembers what it has
 * checked about a key object.
 *
 * @param env where the service runs; in `prod` a secret needs at least 32 bytes (AUTH-31)
 * @param wanted the algorithms that the keys of a set are needed for; undefined for all
 */
export function createKeyReader(env: EnvironmentName, wanted: readonly Algorithm[] = asymmetric): KeyReader {
  const pems = new Map<string, KeyObject>();
  const jwks = new Map<string, KeyObject>();
  const checked = new WeakMap<object, ReadKeys | string>();

  return function readKeys(given) {
    try {
      return readForm(given);
    } catch {
      // The message of the error may contain a part of the key.
      return "cannot be read: one of its getters throws";
    }
  };

  function readForm(given: unknown): ReadKeys | string {
    if (typeof given === "string") return ofPem(given);
    if (types.isKeyObject(given)) return remembered(given, () => ofKeyObject(given));
    if (types.isCryptoKey(given)) return remembered(given, () => ofCryptoKey(given));
    // A JWK is read every time, because the application may change the object.
    if (isObject(given) && Object.hasOwn(given, "keys")) return ofJwkSet(given["keys"]);
    if (isObject(given) && Object.hasOwn(given, "kty")) return ofJwk(given);
    return "must be a KeyObject, a CryptoKey, a JWK, a JWK set or a PEM";
  }

  function remembered(given: object, read: () => ReadKeys | string): ReadKeys | string {
    let found = checked.get(given);
    if (found === undefined) checked.set(given, (found = read()));
    return found;
  }

  function ofPem(given: string): ReadKeys | string {
    const key = pems.get(given) ?? readPem(given);
    if (typeof key === "string") return key;
    const found = remembered(key, () => ofKeyObject(key));
    if (typeof found !== "string") keep(pems, given, found.keys[0]);
    return found;
  }

  function ofKeyObject(key: KeyObject): ReadKeys | string {
    if (key.type === "private") return privateFault("is");
    const message = key.type === "secret" ? secretFault(key.export(), env) : undefined;
    return message ?? singleKey(key, allAlgorithms);
  }

  function ofJwk(jwk: Members): ReadKeys | string {
    const fault = secretJwkFault(jwk, "is");
    if (fault !== undefined) return fault;
    const key =
      usableKeyOf(candidateOf(jwk, asymmetric)) ??
      "is not a public JWK for signatures: RSA, P-256, P-384, P-521 or Ed25519";
    return typeof key === "string" ? key : { keys: [key], single: true, cut: false };
  }

  function ofJwkSet(entries: unknown): ReadKeys | string {
    if (!Array.isArray(entries)) return "must be a JWK set: its member keys must be a list";
    const candidates: Candidate[] = [];
    for (const entry of (entries as readonly unknown[]).filter(isObject)) {
      const fault = secretJwkFault(entry, "contains");
      if (fault !== undefined) return fault;
      // As in a fetched set, skip a key that cannot verify tokens, such as one for encryption.
      const candidate = candidateOf(entry, asymmetric);
      if (candidate !== undefined) candidates.push(candidate);
    }
    const isWanted = ({ algorithms }: Candidate) => algorithms.some((each) => wanted.includes(each));
    const fitting = candidates.filter(isWanted);
    // Keys for other algorithms come last: they only explain why a token or a configuration is refused.
    const keys = [...fitting, ...candidates.filter((each) => !isWanted(each))]
      .slice(0, MOST_KEYS)
      .flatMap((each) => usableKeyOf(each) ?? [])
      .filter(({ algorithms }) => algorithms.length > 0);
    const cut = fitting.length > MOST_KEYS;
    return keys.length === 0 ? "is a JWK set without a usable key" : { keys, single: false, cut };
  }

  function usableKeyOf(candidate: Candidate | undefined): UsableKey | undefined {
    if (candidate === undefined) return undefined;
    const material = JSON.stringify(candidate.jwk);
    let key = jwks.get(material);
    try {
      key ??= createPublicKey({ key: candidate.jwk, format: "jwk" });
    } catch {
      return undefined;
    }
    const found = usableKey(key, candidate.algorithms, candidate.kid, material);
    keep(jwks, material, found);
    return found;
  }
}

/** Returns why a verifier must not hold this JWK; undefined for a public key. */
function secretJwkFault(entry: Members, verb: "is" | "contains"): string | undefined {
  if (own(entry, "k") !== undefined) return `${verb} a shared secret; ${SECRET}`;
  return isPrivateJwk(entry) ? privateFault(verb) : undefined;
}

/** Keeps a key that fits an algorithm, unless its text is long, such as a PEM with much white space. */
function keep(keys: Map<string, KeyObject>, text: string, found: UsableKey | undefined): void {
  if (found === undefined || found.algorithms.length === 0) return;
  if (keys.has(text) || text.length > MOST_TEXT_CHARACTERS) return;
  if (keys.size >= MOST_TEXTS) keys.clear();
  keys.set(text, found.key);
}

function ofCryptoKey(given: webcrypto.CryptoKey): ReadKeys | string {
  if (given.type === "private") return privateFault("is");
  if (given.type === "secret") return `is a shared secret; ${SECRET}`;
  if (!given.usages.includes("verify")) return "is a CryptoKey without the usage verify";
  // Node.js has deprecated the conversion of a key that is not extractable; a public key gains nothing from it.
  if (!given.extractable) return "is a CryptoKey that is not extractable; import it with extractable: true";
  return singleKey(KeyObject.from(given), algorithmsOf(given.algorithm));
}

/** Returns the algorithms that a CryptoKey was made for. */
function algorithmsOf(made: webcrypto.KeyAlgorithm): readonly Algorithm[] {
  const { name, hash } = made as Partial<webcrypto.RsaHashedKeyAlgorithm>;
  // The curve of the key decides between the algorithms ES256, ES384 and ES512.
  if (name === "ECDSA") return ["ES256", "ES384", "ES512"];
  if (name === "Ed25519") return ["EdDSA"];
  const prefix = { "RSASSA-PKCS1-v1_5": "RS", "RSA-PSS": "PS" }[name ?? ""];
  return asymmetric.filter((each) => `SHA-${each.slice(2)}` === hash?.name && each.slice(0, 2) === prefix);
}

function singleKey(key: KeyObject, intended: readonly Algorithm[]): ReadKeys {
  return { keys: [usableKey(key, intended)], single: true, cut: false };
}

function usableKey(key: KeyObject, intended: readonly Algorithm[], kid?: string, material = ""): UsableKey {
  const algorithms = intended.filter((each) => keyFault(key, each) === undefined);
  return { kid, algorithms, material, key };
}

function privateFault(verb: "is" | "contains"): string {
  return `${verb} a private key; set the public key, and keep the private key with the issuer`;
}
