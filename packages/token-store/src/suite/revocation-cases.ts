import { equal, fail } from "node:assert/strict";
import type { TokenStore } from "@svc/context";
import { again, type Draft, id, presented, revocable, successor } from "./subjects.ts";

async function refused(what: string, call: () => unknown): Promise<void> {
  try {
    await call();
  } catch {
    return;
  }
  fail(`${what} was accepted`);
}

/** Cases about revocation by token id, session and subject. */
export const revocationCases: readonly Draft[] = [
  {
    name: "reports a fresh token as not revoked (REV-1)",
    async test({ store }) {
      equal(await store.isRevoked(revocable(presented())), false);
      equal(await store.isRevoked({ jti: undefined, fam: undefined, sub: id(), signedInAt: 0 }), false);
    },
  },
  {
    name: "reports a token revoked by its id on every replica, but not other tokens of its session (REV-1, REV-11)",
    async test({ store, replica }) {
      const token = presented();
      await store.revoke(token.jti, 600);
      for (const each of [store, replica]) {
        equal(await each.isRevoked(revocable(token)), true);
        equal(await each.isRevoked({ ...revocable(token), fam: undefined }), true);
        equal(await each.isRevoked(revocable(successor(token))), false);
      }
    },
  },
  {
    name: "reports all tokens of a revoked session as revoked on every replica (REV-1, REV-11)",
    async test({ store, replica }) {
      const token = presented();
      await store.revokeFamily(token.fam, 600);
      for (const each of [store, replica]) {
        equal(await each.isRevoked(revocable(token)), true);
        equal(await each.isRevoked(revocable(successor(token))), true);
        equal(await each.isRevoked({ ...revocable(token), jti: undefined }), true);
        equal(await each.isRevoked(revocable(presented({ sub: token.sub }))), false);
      }
    },
  },
  {
    name: "does not revoke a token, session or person whose id equals a revoked id of another kind (REV-1)",
    async test({ store }) {
      const [jti, fam] = [id(), id()];
      await store.revoke(jti, 600);
      await store.revokeFamily(fam, 600);
      equal(await store.isRevoked(revocable(presented({ fam: jti, sub: jti }))), false);
      equal(await store.isRevoked(revocable(presented({ jti: fam, sub: fam }))), false);
    },
  },
  {
    name: "accepts a second revocation of the same token, session or person (REV-1)",
    async test({ store }) {
      const token = presented();
      await store.revoke(token.jti, 600);
      await store.revoke(token.jti, 600);
      await store.revokeFamily(token.fam, 600);
      await store.revokeFamily(token.fam, 600);
      equal(await store.isRevoked(revocable(token)), true);
    },
  },
  {
    name: "does not report a used refresh token as revoked, because only rotate() checks that (REF-4)",
    async test({ store }) {
      const token = presented();
      equal(await store.rotate(token), "rotated");
      equal(await store.isRevoked(revocable(token)), false);
    },
  },
  {
    name: "ends a person's sessions that began before the time of a sign-out everywhere (REV-10)",
    async test({ store, replica }) {
      const sub = id();
      const at = 1_700_000_000;
      const old = presented({ sub, signedInAt: at - 1 });
      const fresh = presented({ sub, signedInAt: at });
      await store.revokeSubject(sub, at, 600);
      for (const each of [store, replica]) {
        equal(await each.isRevoked(revocable(old)), true);
        equal(await each.isRevoked({ ...revocable(old), jti: undefined, fam: undefined }), true);
        equal(await each.isRevoked(revocable(fresh)), false);
        equal(await each.isRevoked(revocable(presented({ signedInAt: at - 1 }))), false);
      }
      equal(await store.rotate(old), "replayed");
      equal(await store.rotate(fresh), "rotated");
    },
  },
  {
    name: "accepts a sign-out time with a fraction of a second (REV-10)",
    async test({ store }) {
      const sub = id();
      await store.revokeSubject(sub, 1_700_000_000.5, 600);
      equal(await store.isRevoked(revocable(presented({ sub, signedInAt: 1_700_000_000 }))), true);
      equal(await store.isRevoked(revocable(presented({ sub, signedInAt: 1_700_000_001 }))), false);
    },
  },
  {
    name: "keeps a session revoked after a further sign-out with an earlier time (REV-10)",
    async test({ store, replica }) {
      const sub = id();
      const token = presented({ sub, signedInAt: 1_700_000_000 });
      await store.revokeSubject(sub, 1_700_000_100, 600);
      await replica.revokeSubject(sub, 1_600_000_000, 600);
      equal(await store.isRevoked(revocable(token)), true);
      await store.revokeSubject(sub, 1_700_000_200, 600);
      equal(await store.isRevoked(revocable(presented({ sub, signedInAt: 1_700_000_150 }))), true);
    },
  },
  {
    name: "returns replayed when the request that rotated the token is repeated after a sign-out (REV-10)",
    async test({ store }) {
      const token = presented({ graceSeconds: 600 });
      equal(await store.rotate(token), "rotated");
      await store.revokeSubject(token.sub, token.signedInAt + 1, 600);
      equal(await store.rotate(token), "replayed");
      equal(await store.rotate(again(token)), "replayed");
    },
  },
  {
    name: "accepts ids with any characters (REV-1)",
    async test({ store }) {
      for (const odd of [
        "}",
        "{a}",
        "a}b",
        "a:b",
        "%7D",
        "über",
        " ",
        "'; --",
        "\0",
        "\u0001",
        "\ud800",
        "\r\n",
        "\\",
        "*",
        "x".repeat(10_240),
      ]) {
        const own = (): string => `${odd}${id()}`;
        const token = presented({ jti: own(), fam: own(), sub: own() });
        equal(await store.isRevoked(revocable(token)), false, odd);
        equal(await store.rotate(token), "rotated", odd);
        equal(await store.rotate(again(token)), "raced", odd);
        await store.revokeFamily(token.fam, 600);
        equal(await store.isRevoked(revocable(token)), true, odd);
        const other = presented({ jti: own(), sub: own() });
        await store.revoke(other.jti, 600);
        equal(await store.isRevoked(revocable(other)), true, odd);
        const third = presented({ sub: own() });
        await store.revokeSubject(third.sub, third.signedInAt + 1, 600);
        equal(await store.isRevoked(revocable(third)), true, odd);
      }
    },
  },
  {
    name: "distinguishes ids that differ in an unpaired surrogate, in case or in how an accent is encoded (REV-1)",
    async test({ store }) {
      for (const [one, other] of [
        ["\ud800", "\ud801"],
        ["a", "A"],
        ["\u00e9", "e\u0301"],
        ["a", "a "],
        ["a", "a\0"],
      ] as const) {
        const own = id();
        const revoked = presented({ jti: own + one, fam: own + one, sub: own + one });
        const live = presented({ jti: own + other, fam: own + other, sub: own + other });
        await store.revoke(revoked.jti, 600);
        await store.revokeFamily(revoked.fam, 600);
        await store.revokeSubject(revoked.sub, revoked.signedInAt + 1, 600);
        equal(await store.isRevoked(revocable(revoked)), true);
        equal(await store.isRevoked(revocable(live)), false);
        equal(await store.rotate(live), "rotated");
      }
    },
  },
  {
    name: "signs out a session whose start is unknown (REV-10)",
    async test({ store }) {
      const token = { ...revocable(presented()), signedInAt: Number.NaN };
      equal(await store.isRevoked(token), false);
      await store.revokeSubject(token.sub, 1, 600);
      equal(await store.isRevoked(token), true);
    },
  },
  {
    name: "rejects a duration or time that is not a finite number, and does not use up the token (REV-2)",
    async test({ store }) {
      const token = presented();
      for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY]) {
        await refused("revoke", () => store.revoke(token.jti, wrong));
        await refused("revokeFamily", () => store.revokeFamily(token.fam, wrong));
        await refused("revokeSubject", () => store.revokeSubject(token.sub, 1, wrong));
        await refused("notBefore", () => store.revokeSubject(token.sub, wrong, 600));
        for (const name of ["graceSeconds", "usedTtlSeconds", "familyTtlSeconds", "signedInAt"] as const) {
          await refused(name, () => store.rotate({ ...token, [name]: wrong }));
        }
      }
      equal(await unrevoked(store, token), true);
      equal(await store.rotate(token), "rotated");
    },
  },
];

async function unrevoked(store: TokenStore, token: Parameters<typeof revocable>[0]): Promise<boolean> {
  return !(await store.isRevoked(revocable(token)));
}
