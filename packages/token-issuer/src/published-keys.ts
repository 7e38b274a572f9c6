import { createHash } from "node:crypto";
import { isSecretAlgorithm, requiredMembers } from "./key-material.ts";
import type { PublicJwk, PublishedKeySet } from "./key-ring.ts";
import type { RingKey } from "./ring-document.ts";

/** Returns the key set of these keys. It copies only the members that RFC 7638 requires, so no private ones. */
export function publishedKeys(keys: readonly RingKey[]): PublishedKeySet {
  const published = keys
    .filter((key) => !isSecretAlgorithm(key.algorithm))
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
