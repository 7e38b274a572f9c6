import { equal } from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { again, type Draft, id, presented, revocable, successor, until } from "./subjects.ts";

/** Cases about the lifetime of entries. */
export const expiryCases: readonly Draft[] = [
  {
    name: "keeps an entry until it expires, and drops it then (REV-2, REV-9)",
    needsClock: true,
    async test({ store, advance }) {
      const token = presented({ sub: "", usedTtlSeconds: 900, graceSeconds: 0 });
      const [jti, fam, sub] = [id(), id(), id()];
      const entries = [
        { ...revocable(presented()), jti },
        { ...revocable(presented()), fam },
        { ...revocable(presented()), sub, signedInAt: 0 },
      ];
      await store.revoke(jti, 900);
      await store.revokeFamily(fam, 900);
      await store.revokeSubject(sub, 1, 900);
      equal(await store.rotate(token), "rotated");
      await advance?.(899_999);
      for (const entry of entries) equal(await store.isRevoked(entry), true);
      await advance?.(1);
      for (const entry of entries) equal(await store.isRevoked(entry), false);
      equal(await store.rotate(again(token)), "rotated");
    },
  },
  {
    name: "revokes the family of a replayed token for familyTtlSeconds, and does not extend this time at a second replay (REF-6, REV-9)",
    needsClock: true,
    async test({ store, advance }) {
      const token = presented({ graceSeconds: 0, familyTtlSeconds: 1_000 });
      equal(await store.rotate(token), "rotated");
      equal(await store.rotate(again(token)), "replayed");
      await advance?.(600_000);
      equal(await store.rotate(again(token)), "replayed");
      await advance?.(399_999);
      equal(await store.isRevoked(revocable(successor(token))), true);
      await advance?.(1);
      equal(await store.isRevoked(revocable(successor(token))), false);
    },
  },
  {
    name: "drops an entry some time after it expires (REV-2)",
    async test({ store, replica, advance }) {
      const token = presented({ usedTtlSeconds: 1, graceSeconds: 0 });
      const revoked = presented();
      const person = presented();
      equal(await store.rotate(token), "rotated");
      await store.revoke(revoked.jti, 1);
      await store.revokeFamily(revoked.fam, 1);
      await store.revokeSubject(person.sub, person.signedInAt + 1, 1);
      const wait = advance ?? sleep;
      await wait(500);
      await until("the entries have not expired", async () => {
        await wait(100);
        const kept = await Promise.all([
          replica.isRevoked(revocable(revoked)),
          replica.isRevoked(revocable(person)),
        ]);
        return !kept.includes(true);
      });
      await wait(1_000);
      equal(await store.rotate(again(token)), "rotated");
    },
  },
  {
    name: "extends an entry that is revoked again for longer, and never shortens it (REV-2)",
    async test({ store, replica, advance }) {
      const revoked = [
        [600, 1, 0, -5],
        [1, 600],
      ].map((durations) => ({ durations, token: presented(), session: presented(), person: presented() }));
      for (const { durations, token, session, person } of revoked) {
        for (const seconds of durations) {
          await store.revoke(token.jti, seconds);
          await replica.revokeFamily(session.fam, seconds);
          await store.revokeSubject(person.sub, person.signedInAt + 1, seconds);
        }
      }
      await (advance ?? sleep)(1_500);
      for (const { token, session, person } of revoked) {
        for (const each of [token, session, person]) {
          equal(await store.isRevoked(revocable(each)), true);
          equal(await replica.isRevoked(revocable(each)), true);
        }
      }
    },
  },
];
