import { deepEqual, equal } from "node:assert/strict";
import type { Draft } from "./cases.ts";
import { again, presented, revocable, successor } from "./subjects.ts";

const PRESENTATIONS = 16;
const ROUNDS = 5;

/** What happens at the same instant. */
export const concurrencyCases: readonly Draft[] = [
  {
    name: "REF-7 REF-19 of 16 presentations at once, on two replicas, exactly one is rotated and the rest raced",
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
    name: "REF-6 REF-19 without a window 16 presentations at once rotate one, and the session ends",
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
    name: "REF-8 REV-11 a session that is revoked while its token is rotated is over, whoever came first",
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
    name: "REV-10 a person who is signed out while a token is rotated stays signed out, whoever came first",
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
