import { createHash } from "node:crypto";
import { isSecretAlgorithm, requiredMembers } from "./key-material.ts";
import type { PublicJwk, PublishedKeySet } from "./key-ring.ts";
import type { RingKey } from "./ring-document.ts";

/** The key set of these keys. Only the members that RFC 7638 requires are taken over, so nothing private can be. */
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
