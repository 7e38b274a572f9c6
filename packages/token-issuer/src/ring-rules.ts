import { isSymmetric } from "@svc/jwt-auth";
import type { KeyMaterial } from "./key-material.ts";
import { KeyRingError } from "./key-ring-error.ts";
import type { Lifetimes } from "./key-ring.ts";
import { contractLifetimes, currentOf, isLive, type RingDocument, type RingKey } from "./ring-document.ts";

/**
 * Seconds for which a key is published before it signs, and for which a replaced key outlives its last token. A service may
 * fetch the key set once a minute, a cache may keep it for a minute, and replicas of the issuer notice a changed file within
 * seconds.
 */
export const SETTLE_SECONDS = 120;

/** Maximum number of live keys: enough for all rotations within one refresh lifetime, and fewer than verifiers accept. */
export const MAX_LIVE_KEYS = 32;

/** Maximum number of retired keys that a ring lists by kid, so that they cannot be added again; the oldest are dropped. */
const MAX_RETIRED_KEYS = 64;

/** Returns when a key may first be promoted or retired, in milliseconds since the Unix epoch. */
export function dueAt(key: RingKey, lifetimes: Lifetimes): number | undefined {
  if (key.state === "next") return key.publishedAt + SETTLE_SECONDS * 1000;
  if (key.state !== "previous") return undefined;
  return (key.replacedAt ?? 0) + keepSeconds(lifetimes.refreshSeconds, lifetimes) * 1000;
}

/** Returns for how many seconds a replaced key is kept, if its tokens have the given lifetime. */
export function keepSeconds(tokenSeconds: number, lifetimes: Lifetimes): number {
  return tokenSeconds + lifetimes.leewaySeconds + SETTLE_SECONDS;
}

/** Creates a ring of one key, which signs immediately because no verifier knows an older key. */
export function newRing(
  material: KeyMaterial,
  now: number,
  lifetimes: Lifetimes = contractLifetimes,
): RingDocument {
  return {
    lifetimes,
    keys: [{ ...material, state: "current", publishedAt: now, promotedAt: now }],
  };
}

/**
 * Adds a key that is published but does not sign yet.
 *
 * @throws KeyRingError when the ring contains or contained the key, has another `next` key, is full, or has keys of the
 *   other family
 */
export function addKey(document: RingDocument, material: KeyMaterial, now: number): RingDocument {
  const known = document.keys.find((key) => key.kid === material.kid);
  if (known !== undefined)
    throw new KeyRingError(
      "known_key",
      `the key ${known.kid} is already in the ring; its state is "${known.state}"`,
    );
  const secrets = isSymmetric(currentOf(document).algorithm);
  if (secrets !== isSymmetric(material.algorithm)) {
    const has = secrets ? "secrets" : "key pairs";
    throw new KeyRingError("wrong_state", `the ring has ${has}; ${material.algorithm} needs a separate ring`);
  }
  const next = document.keys.find((key) => key.state === "next");
  if (next !== undefined)
    throw new KeyRingError(
      "wrong_state",
      `the key ${next.kid} is already in the state "next": promote or retire it first`,
    );
  if (document.keys.filter(isLive).length >= MAX_LIVE_KEYS)
    throw new KeyRingError(
      "wrong_state",
      `the ring has ${MAX_LIVE_KEYS} keys: retire some of the previous keys`,
    );
  return { ...document, keys: [...document.keys, { ...material, state: "next", publishedAt: now }] };
}

/**
 * Promotes the next key, which signs from then on. Drops the private half of the replaced key, which then only verifies.
 *
 * @param kid the key. Default: the key in the state `next`
 * @param force promotes the key even if it is not due; services that do not know the key yet reject its tokens until they
 *   fetch it
 * @throws KeyRingError when the key is unknown, is not `next`, or is not due yet
 */
export function promoteKey(
  document: RingDocument,
  now: number,
  { kid, force = false }: { readonly kid?: string | undefined; readonly force?: boolean | undefined } = {},
): RingDocument {
  const key = kid === undefined ? nextOf(document) : find(document, kid);
  if (key.state !== "next")
    throw new KeyRingError(
      "wrong_state",
      `the key ${key.kid} is ${key.state}; only a key in the state "next" can be promoted`,
    );
  const due = dueAt(key, document.lifetimes) ?? 0;
  if (now < due && !force) {
    const wait = `it was published ${duration(now - key.publishedAt)} ago; wait ${duration(due - now)}`;
    throw new KeyRingError(
      "too_early",
      `the key ${key.kid} is not known everywhere yet: ${wait}, or force the promotion`,
    );
  }
  return withKeys(document, (each) => {
    if (each === key) return { ...each, state: "current", promotedAt: now };
    return each.state === "current" ? replaced(each, now) : each;
  });
}

/**
 * Removes a key. Its tokens are rejected from then on.
 *
 * @param immediately removes the key even while its tokens are valid; the next key replaces a removed current key
 * @throws KeyRingError when the key is unknown, is retired, signs, or is still needed
 */
export function retireKey(
  document: RingDocument,
  kid: string,
  now: number,
  { immediately = false }: { readonly immediately?: boolean | undefined } = {},
): RingDocument {
  const key = find(document, kid);
  if (key.state === "retired") throw new KeyRingError("wrong_state", `the key ${kid} is retired already`);
  if (key.state === "current") return retireCurrent(document, key, now, immediately);
  const due = dueAt(key, document.lifetimes) ?? 0;
  // A next key has signed no tokens.
  if (key.state === "previous" && now < due && !immediately) {
    const since = new Date(due).toISOString();
    throw new KeyRingError(
      "too_early",
      `tokens of the key ${kid} may be valid until ${since}; wait, or retire the key immediately`,
    );
  }
  return withKeys(document, (each) => (each === key ? retired(each, now) : each));
}

function retireCurrent(
  document: RingDocument,
  key: RingKey,
  now: number,
  immediately: boolean,
): RingDocument {
  if (!immediately)
    throw new KeyRingError(
      "wrong_state",
      `the key ${key.kid} is the current key: promote another key first, or retire this key immediately`,
    );
  if (!document.keys.some((each) => each.state === "next"))
    throw new KeyRingError(
      "wrong_state",
      `the key ${key.kid} is the only one that can sign: add another key first`,
    );
  return withKeys(document, (each) => {
    if (each === key) return retired(each, now);
    return each.state === "next" ? { ...each, state: "current", promotedAt: now } : each;
  });
}

function replaced(key: RingKey, now: number): RingKey {
  const signing = isSymmetric(key.algorithm) ? key.signing : undefined;
  return { ...key, state: "previous", replacedAt: now, signing };
}

function retired(key: RingKey, now: number): RingKey {
  return { ...key, state: "retired", retiredAt: now, signing: undefined, verifying: undefined };
}

function withKeys(document: RingDocument, change: (key: RingKey) => RingKey): RingDocument {
  const keys = document.keys.map(change);
  const forgotten = keys
    .filter((key) => !isLive(key))
    .sort((a, b) => (b.retiredAt ?? 0) - (a.retiredAt ?? 0))
    .slice(MAX_RETIRED_KEYS);
  return { ...document, keys: keys.filter((key) => !forgotten.includes(key)) };
}

function nextOf(document: RingDocument): RingKey {
  const next = document.keys.find((key) => key.state === "next");
  if (next === undefined)
    throw new KeyRingError("unknown_key", 'no key is in the state "next": add a key first');
  return next;
}

function find(document: RingDocument, kid: string): RingKey {
  const key = document.keys.find((each) => each.kid === kid);
  if (key === undefined)
    throw new KeyRingError("unknown_key", `the ring has no key ${JSON.stringify(kid.slice(0, 64))}`);
  return key;
}

/** Returns a duration in words, from milliseconds. */
export function duration(milliseconds: number): string {
  const seconds = Math.max(0, Math.ceil(milliseconds / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} d`;
}
