import { KeyObject } from "node:crypto";
import type { Algorithm } from "./algorithms.ts";
import { type CheckedClaims, checkClaims } from "./claims.ts";
import { keyFault } from "./key-check.ts";
import { keyLookupOf } from "./key-function.ts";
import type { KeySource } from "./key-source.ts";
import { toPrincipal } from "./principal.ts";
import { refuse, type Verification, type Verified } from "./verification.ts";
import { type SignatureCheck, signatureCheck } from "./signature.ts";
import {
  type KnownHeader,
  knownHeader,
  MAX_TOKEN_LENGTH,
  type ParsedToken,
  parseToken,
  type TokenHeader,
  wholeHeader,
} from "./token-parser.ts";
import { cacheCost, type CachedToken, cacheId, createVerifiedCache } from "./verified-cache.ts";
import { type ResolvedVerifierOptions, resolveVerifierOptions } from "./resolve-verifier.ts";
import type { VerifierOptions } from "./verifier-options.ts";

/** Verifies tokens. Its only state is a cache of valid tokens. */
export interface Verifier {
  /**
   * Returns the caller of a valid token, or why the token is refused. Returns a promise only when a key must be fetched
   * or a signature is checked in the thread pool. Never throws or rejects because of a token.
   */
  verify(token: string): Verification | Promise<Verification>;
  readonly keys: KeySource;
  readonly algorithms: readonly Algorithm[];
  readonly tokenUse: "access" | "refresh";
  readonly leewaySeconds: number;
  /** Number of tokens in the cache. */
  readonly cachedTokens: number;
}

/**
 * Creates a verifier of JSON Web Tokens. It checks shape, header and claims first, because they need no cryptography, then
 * finds the key, and checks the signature last.
 *
 * @throws ConfigurationError that lists all unknown and invalid options
 */
export function createVerifier(options: VerifierOptions): Verifier {
  const settings = resolveVerifierOptions(options);
  const { keys, algorithms, tokenUse, leewaySeconds, cacheTokens, cacheBytes } = settings;
  const byHeader = keyLookupOf(keys);
  // A function must see every token: nothing reports that its keys changed.
  const cache =
    cacheTokens === 0 || byHeader !== undefined ? undefined : createVerifiedCache(cacheTokens, cacheBytes);
  const allowed: ReadonlySet<string> = new Set(algorithms);
  const signatures = createSignatureChecker(settings);
  let lastHeader: KnownHeader | undefined;

  function secondsNow(): number {
    return Math.floor(settings.now() / 1000);
  }

  function verify(token: string): Verification | Promise<Verification> {
    const now = secondsNow();
    // Do not hash a token above the maximum length; the parser refuses it.
    if (cache === undefined || typeof token !== "string" || token.length > MAX_TOKEN_LENGTH)
      return verifyUnseen(token, now);
    const id = cacheId(token);
    const known = cache.get(id);
    if (known !== undefined) {
      if (stillHolds(known, now, keys)) return known.verified;
      cache.delete(id);
    }
    return verifyUnseen(token, now, id);
  }

  function verifyUnseen(token: string, now: number, id?: string): Verification | Promise<Verification> {
    const parsed = parseToken(token, allowed, lastHeader);
    if (parsed.reason !== undefined) return parsed;
    const checked = checkClaims(parsed.claims, settings, now);
    if (checked.reason !== undefined) return checked;
    const seen: Candidate = {
      parsed,
      checked,
      id,
      length: token.length,
      generation: keys.generation,
    };
    const key = lookUp(keys, parsed.header);
    if (key === "unavailable") return refuse("keys_unavailable");
    if (key !== undefined) return withKey(seen, key);
    return keys.refresh === undefined && byHeader === undefined
      ? refuse("unknown_key", "kid")
      : withRefreshedKey(seen);
  }

  async function withRefreshedKey(seen: Candidate): Promise<Verification> {
    const { algorithm, kid } = seen.parsed.header;
    let key: KeyObject | "wrong key" | undefined;
    try {
      key =
        byHeader === undefined
          ? await keys.refresh?.(kid, algorithm)
          : await byHeader(seen.parsed.header, wholeHeader(seen.parsed));
    } catch {
      return refuse("keys_unavailable");
    }
    if (key === undefined) return refuse("unknown_key", "kid");
    if (key === "wrong key") return refuse("unknown_key", "alg");
    // The token may have expired during the wait.
    const late = checkClaims(seen.parsed.claims, settings, secondsNow());
    if (late.reason !== undefined) return late;
    // Store the generation read before the refresh, so that the first use of the cached token looks up the key again.
    return withKey(seen, key);
  }

  function withKey(seen: Candidate, key: KeyObject): Verification | Promise<Verification> {
    const holds = signatures(seen.parsed, key);
    if (typeof holds === "boolean") return holds ? accept(seen, key) : refuse("signature");
    if (holds === "wrong key") return refuse("unknown_key", "alg");
    return holds.then((held) => (held ? accept(seen, key) : refuse("signature")));
  }

  function accept(seen: Candidate, key: KeyObject): Verified {
    const { parsed, checked, id, length, generation } = seen;
    if (lastHeader?.header !== parsed.header) lastHeader = knownHeader(parsed);
    const verified: Verified = Object.freeze({
      principal: toPrincipal(parsed.claims, settings),
      signedInAt: checked.signedInAt,
    });
    if (id !== undefined) {
      const { from, until } = checked;
      const bytes = cacheCost(length, parsed.claims);
      cache?.set(id, { verified, header: parsed.header, key, from, until, generation, bytes });
    }
    return verified;
  }

  return {
    verify,
    keys,
    algorithms,
    tokenUse,
    leewaySeconds,
    get cachedTokens() {
      return cache?.size ?? 0;
    },
  };
}

/** A token with valid shape and claims; its signature is not checked yet. */
interface Candidate {
  readonly parsed: ParsedToken;
  readonly checked: CheckedClaims;
  readonly id: string | undefined;
  readonly length: number;
  readonly generation: number;
}

/** Returns whether a cached token is still valid at this time and with the current keys. */
function stillHolds(known: CachedToken, now: number, keys: KeySource): boolean {
  if (!(now >= known.from && now < known.until)) return false;
  const { generation } = keys;
  if (known.generation === generation) return true;
  if (lookUp(keys, known.header) !== known.key) return false;
  known.generation = generation;
  return true;
}

// An application's own key source may throw, but verify() must not.
function lookUp(keys: KeySource, { kid, algorithm }: TokenHeader): KeyObject | "unavailable" | undefined {
  try {
    return keys.find(kid, algorithm);
  } catch {
    return "unavailable";
  }
}

function createSignatureChecker({
  algorithms,
  useThreadPool,
}: ResolvedVerifierOptions): (
  parsed: ParsedToken,
  key: KeyObject,
) => boolean | Promise<boolean> | "wrong key" {
  const checks = new Map<Algorithm, SignatureCheck>();
  for (const algorithm of algorithms) checks.set(algorithm, signatureCheck(algorithm, useThreadPool));
  // Remember the algorithms that a key fits, because reading the details of a key takes longer than this look-up.
  const fitting = new WeakMap<KeyObject, Set<Algorithm>>();
  function fits(key: KeyObject, algorithm: Algorithm): boolean {
    const known = fitting.get(key);
    if (known?.has(algorithm) === true) return true;
    // An application's own source may return any value.
    if (!(key instanceof KeyObject) || keyFault(key, algorithm) !== undefined) return false;
    fitting.set(key, (known ?? new Set<Algorithm>()).add(algorithm));
    return true;
  }
  return ({ header, signed, signature }, key) => {
    try {
      if (!fits(key, header.algorithm)) return "wrong key";
      return checks.get(header.algorithm)?.(signed, signature, key) ?? false;
    } catch {
      return false;
    }
  };
}
