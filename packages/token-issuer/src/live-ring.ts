import { createHash, type KeyObject } from "node:crypto";
import { type Algorithm, isSymmetric } from "@svc/jwt-auth";
import { requiredMembers } from "./key-material.ts";
import type { KeyNote, KeyState, PublicJwk, PublishedKeySet, Signer } from "./key-ring.ts";
import { currentOf, isLive, type RingDocument, type RingKey } from "./ring-document.ts";
import { dueAt, keepSeconds } from "./ring-rules.ts";
import { isoDate } from "./ring-text.ts";
import { createSigner } from "./signer.ts";

/** A ring of keys at one point in time, ready to sign and to verify. */
export interface LiveRing {
  readonly document: RingDocument;
  readonly signer: Signer;
  find(kid: string | undefined, algorithm: Algorithm): KeyObject | undefined;
  jwks(now: number): PublishedKeySet | undefined;
}

/**
 * Creates the keys that sign and verify from a key ring document.
 *
 * @param before the previous ring; unchanged keys keep their objects, because verifiers cache by object
 * @param refreshTokensStayHere whether replaced keys are published only for the lifetime of access tokens
 */
export function liveRing(
  document: RingDocument,
  before: LiveRing | undefined,
  refreshTokensStayHere: boolean,
): LiveRing {
  const live = document.keys.filter(isLive);
  const verifying = new Map<string, { readonly algorithm: Algorithm; readonly key: KeyObject }>();
  for (const { kid, algorithm, verifying: key } of live) {
    if (key === undefined) continue;
    verifying.set(kid, { algorithm, key: before?.find(kid, algorithm) ?? key });
  }
  const only = verifying.size === 1 ? verifying.values().next().value : undefined;
  const current = currentOf(document);
  if (current.signing === undefined) throw new Error("the current key of the key ring has no private half");
  const last = before?.signer;
  const same = last?.kid === current.kid && last.algorithm === current.algorithm;
  const signer = same ? last : createSigner(current.kid, current.algorithm, current.signing);
  let published: { readonly set: PublishedKeySet; readonly count: number } | undefined;

  function isPublished(key: RingKey, now: number): boolean {
    if (key.state !== "previous" || !refreshTokensStayHere) return true;
    const { lifetimes } = document;
    return now < (key.replacedAt ?? 0) + keepSeconds(lifetimes.accessSeconds, lifetimes) * 1000;
  }

  return {
    document,
    signer,
    find(kid, algorithm) {
      // A token without a kid is accepted only when the ring has a single key (KEY-11).
      const found = kid === undefined ? only : verifying.get(kid);
      return found?.algorithm === algorithm ? found.key : undefined;
    },
    jwks(now) {
      if (isSymmetric(current.algorithm)) return undefined;
      const keys = live.filter((key) => isPublished(key, now));
      // While the ring is unchanged, the published set loses keys but gains none, so an equal count means the same keys.
      if (published?.count !== keys.length) published = { set: publishedKeys(keys), count: keys.length };
      return published.set;
    },
  };
}

const order: readonly KeyState[] = ["current", "next", "previous", "retired"];

/** Returns the public facts about the keys: the current one first, then by state, newest first. */
export function notesOf({ keys, lifetimes }: RingDocument): readonly KeyNote[] {
  return [...keys]
    .sort((a, b) => order.indexOf(a.state) - order.indexOf(b.state) || b.publishedAt - a.publishedAt)
    .map((key) => ({
      kid: key.kid,
      algorithm: key.algorithm,
      state: key.state,
      publishedAt: new Date(key.publishedAt).toISOString(),
      promotedAt: isoDate(key.promotedAt),
      replacedAt: isoDate(key.replacedAt),
      retiredAt: isoDate(key.retiredAt),
      dueAt: isoDate(dueAt(key, lifetimes)),
    }));
}

/** Returns the key set of these keys. Copies only the members that RFC 7638 requires, none of which is private. */
export function publishedKeys(keys: readonly RingKey[]): PublishedKeySet {
  const published = keys
    .filter((key) => !isSymmetric(key.algorithm))
    .map(publicJwk)
    .filter((jwk) => jwk !== undefined)
    .sort((a, b) => (String(a["kid"]) < String(b["kid"]) ? -1 : 1));
  const body = JSON.stringify({ keys: published });
  return Object.freeze({
    keys: Object.freeze(published),
    body,
    etag: `"${createHash("sha256").update(body).digest("base64url")}"`,
    cacheControl: "public, max-age=60",
  });
}

function publicJwk({ kid, algorithm, verifying }: RingKey): PublicJwk | undefined {
  if (verifying === undefined) return undefined;
  const members = requiredMembers(verifying.export({ format: "jwk" }));
  return Object.freeze({ ...members, use: "sig", alg: algorithm, kid });
}
