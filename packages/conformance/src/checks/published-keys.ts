import { type Answer, isObject, type JsonObject } from "../answer.ts";
import { type Check, check } from "../check.ts";
import type { Verdict } from "../conformance-report.ts";
import type { Kit } from "../kit.ts";
import { show } from "../show.ts";
import { hasSigned } from "../signing.ts";
import { must, notApplicable, ruledOut, succeeds } from "../verdict.ts";
import { needs, pairs } from "./pairs.ts";
import { open, type Pair, refresh, sessionOf, signIn, sendControl, visit } from "./session-calls.ts";

type Jwk = JsonObject;

/** Private members of a JWK. */
const privateMembers = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"] as const;

function published(kit: Kit): Promise<Answer> {
  return kit.get("/.well-known/jwks.json");
}

function keysIn({ ok, object }: Answer): readonly Jwk[] | undefined {
  const keys = ok ? object?.["keys"] : undefined;
  return Array.isArray(keys) ? keys.filter(isObject) : undefined;
}

async function keysOf(kit: Kit): Promise<readonly Jwk[]> {
  return keysIn(await published(kit)) ?? [];
}

function nothingPrivate(keys: readonly Jwk[]): Verdict {
  const shown = privateMembers.find((name) => keys.some((key) => key[name] !== undefined));
  return must(shown === undefined, `a key with the private member ${shown}`, "only public members");
}

/** Whether one of the keys signed a token and has its `kid`. */
function verifiedBy(keys: readonly Jwk[], token: string): boolean {
  const { kid, alg } = open(token)?.header ?? {};
  return keys.some((key) => key["kid"] === kid && hasSigned(key, token, String(alg)));
}

/** Whether one of the keys signed a token, under any `kid`. */
function signedBy(keys: readonly Jwk[], token: string): boolean {
  const { alg } = open(token)?.header ?? {};
  return keys.some((key) => hasSigned(key, token, String(alg)));
}

function kidOf({ access }: Pair): unknown {
  return open(access)?.header["kid"];
}

export const publishedKeyChecks: readonly Check[] = [
  check("ISS-15", { needs }, async function* (kit) {
    const { first } = await pairs(kit);
    const answer = await published(kit);
    const keys = keysIn(answer);
    if (String(open(first.access)?.header["alg"]).startsWith("HS")) {
      return keys === undefined ? ruledOut("the service signs with a secret") : nothingPrivate(keys);
    }
    if (kidOf(first) === undefined) return notApplicable("see ISS-12");
    yield must(
      keys !== undefined,
      `${answer.status} ${show(answer.mediaType)} without keys`,
      "200 with a key set",
    );
    yield nothingPrivate(keys ?? []);
    yield* [first.access, first.refresh].map((token) =>
      must(verifiedBy(keys ?? [], token), "a token that no published key verifies", "the key with its kid"),
    );
  }),
  // KEY-3 rotates the key: in all later checks the service signs with the new one.
  check("KEY-3", { needs: [...needs, "session:rotation"], alone: true }, async function* (kit) {
    const { rotation } = sessionOf(kit);
    if (rotation === undefined) return notApplicable("no rotation");
    const before = await signIn(kit);
    if (kidOf(before) === undefined) return notApplicable("see ISS-12");
    const first = await keysOf(kit);
    const isSound = verifiedBy(first, before.access) && nothingPrivate(first).status === "pass";
    if (!isSound) return notApplicable("see ISS-15");
    if (rotation.add !== undefined) await sendControl(kit, rotation.add);
    const announced = await keysOf(kit);
    await sendControl(kit, rotation.promote);
    const after = await signIn(kit);
    const keys = await keysOf(kit);
    const isAnnounced = rotation.add === undefined || announced.some(({ kid }) => kid === kidOf(after));
    const [old, fresh] = [await visit(kit, before.access), await visit(kit, after.access)];
    const renewed = await refresh(kit, before.refresh);
    yield must(kidOf(after) !== kidOf(before), "the same kid after the rotation", "another key");
    yield must(
      !signedBy(
        first.filter(({ kid }) => kid === kidOf(before)),
        after.access,
      ),
      "the same key under another kid after the rotation",
      "another key",
    );
    yield must(
      verifiedBy(keys, before.access),
      "the previous key is not in the set",
      "the key in the set while its tokens are valid",
    );
    yield must(verifiedBy(keys, after.access), "the new key is not in the set", "the key in the set");
    yield must(isAnnounced, "a key that was published after the service signed with it", "published before");
    yield nothingPrivate([...announced, ...keys]);
    yield succeeds(old, "for an access token signed with the previous key");
    yield succeeds(fresh, "for an access token signed with the new key");
    yield succeeds(renewed, "for a refresh token signed with the previous key", "a new pair");
  }),
];
