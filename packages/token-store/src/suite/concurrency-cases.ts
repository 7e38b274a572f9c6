import { deepEqual, equal } from "node:assert/strict";
import { again, type Draft, presented, revocable, successor } from "./subjects.ts";

const PRESENTATIONS = 16;
const ROUNDS = 5;

/** Cases with concurrent calls. */
export const concurrencyCases: readonly Draft[] = [
  {
    name: "rotates a token once when two replicas receive it 16 times concurrently, and reports the other 15 as raced (REF-7, REF-19)",
    async test({ store, replica }) {
      for (let round = 0; round < ROUNDS; round++) {
        const token = presented({ graceSeconds: 600 });
        const results = await Promise.all(
          Array.from({ length: PRESENTATIONS }, async (_, index) =>
            (index % 2 === 0 ? store : replica).rotate(again(token)),
          ),
        );
        deepEqual(results.toSorted(), [...Array<string>(PRESENTATIONS - 1).fill("raced"), "rotated"]);
        equal(await store.isRevoked(revocable(successor(token))), false);
      }
    },
  },
  {
    name: "without a grace window, rotates a token once when it is sent 16 times concurrently, and ends the session (REF-6, REF-19)",
    async test({ store, replica }) {
      const token = presented({ graceSeconds: 0 });
      const results = await Promise.all(
        Array.from({ length: PRESENTATIONS }, async (_, index) =>
          (index % 2 === 0 ? store : replica).rotate(again(token)),
        ),
      );
      deepEqual(results.toSorted(), [...Array<string>(PRESENTATIONS - 1).fill("replayed"), "rotated"]);
      equal(await replica.rotate(successor(token)), "replayed");
    },
  },
  {
    name: "ends a session whose revocation and rotations run concurrently (REF-8, REV-11)",
    async test({ store, replica }) {
      for (let round = 0; round < ROUNDS; round++) {
        const token = presented({ graceSeconds: 600 });
        const rotations = [store.rotate(token), replica.rotate(again(token))];
        const revoked = replica.revokeFamily(token.fam, 600);
        const more = [store.rotate(again(token)), replica.rotate(again(token))];
        await revoked;
        const won = (await Promise.all([...rotations, ...more])).filter((result) => result === "rotated");
        equal(won.length <= 1, true, `${won.length} rotations`);
        for (const each of [store, replica]) {
          equal(await each.isRevoked(revocable(successor(token))), true);
          equal(await each.rotate(successor(token)), "replayed");
          equal(await each.rotate(again(token)), "replayed");
        }
      }
    },
  },
  {
    name: "ends a session when a sign-out of the person runs concurrently with rotations (REV-10)",
    async test({ store, replica }) {
      for (let round = 0; round < ROUNDS; round++) {
        const token = presented({ graceSeconds: 600 });
        await Promise.all([
          store.rotate(token),
          replica.revokeSubject(token.sub, token.signedInAt + 1, 600),
          replica.rotate(again(token)),
        ]);
        for (const each of [store, replica]) {
          equal(await each.isRevoked(revocable(successor(token))), true);
          equal(await each.rotate(successor(token)), "replayed");
        }
      }
    },
  },
];
