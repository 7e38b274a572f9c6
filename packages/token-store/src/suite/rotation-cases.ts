import { deepEqual, equal, ok } from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { RotationResult, TokenStore } from "@svc/context";
import { again, type Draft, id, presented, revocable, successor, until } from "./subjects.ts";

const SHORT_SECONDS = 0.2;

/** Sends a token until the result is no longer `raced`. */
async function pastWindow(store: TokenStore, present: () => Promise<RotationResult>): Promise<void> {
  let last: RotationResult = "raced";
  await until("the grace window has not ended", async () => (last = await present()) !== "raced");
  equal(last, "replayed");
}

/** Cases about each result of `rotate()`. */
export const rotationCases: readonly Draft[] = [
  {
    name: "rotates a token at its first use (REF-4, REF-18)",
    async test({ store }) {
      const token = presented();
      equal(await store.rotate(token), "rotated");
      equal(await store.isRevoked(revocable(token)), false);
      equal(await store.isRevoked(revocable(successor(token))), false);
    },
  },
  {
    name: "rotates the tokens of a session one after the other (REF-4)",
    async test({ store, replica }) {
      let token = presented();
      for (let round = 0; round < 5; round++) {
        equal(await (round % 2 === 0 ? store : replica).rotate(token), "rotated");
        token = successor(token);
      }
    },
  },
  {
    name: "reports a second use within the window as raced, and revokes nothing (REF-5, REF-14, REF-18)",
    async test({ store, replica }) {
      const token = presented({ graceSeconds: 600 });
      equal(await store.rotate(token), "rotated");
      equal(await store.rotate(again(token)), "raced");
      equal(await replica.rotate(again(token)), "raced");
      equal(await store.isRevoked(revocable(successor(token))), false);
      equal(await store.rotate(successor(token)), "rotated");
    },
  },
  {
    name: "reports a second use after the window as replayed, and revokes the family (REF-6, REF-18)",
    async test({ store, replica, advance }) {
      const token = presented({ graceSeconds: SHORT_SECONDS });
      equal(await store.rotate(token), "rotated");
      await (advance ?? sleep)(SHORT_SECONDS * 1_000);
      await pastWindow(store, async () => store.rotate(again(token)));
      for (const each of [store, replica]) {
        equal(await each.isRevoked(revocable(successor(token))), true);
        equal(await each.rotate(successor(token)), "replayed");
      }
    },
  },
  {
    name: "reports a second use as replayed when graceSeconds is 0 (REF-14)",
    async test({ store }) {
      const token = presented({ graceSeconds: 0 });
      equal(await store.rotate(token), "rotated");
      equal(await store.rotate(again(token)), "replayed");
      equal(await store.isRevoked(revocable(successor(token))), true);
    },
  },
  {
    name: "ends the window exactly after graceSeconds (REF-14)",
    needsClock: true,
    async test({ store, advance }) {
      const token = presented({ graceSeconds: 10 });
      equal(await store.rotate(token), "rotated");
      await advance?.(9_999);
      equal(await store.rotate(again(token)), "raced");
      await advance?.(1);
      equal(await store.rotate(again(token)), "replayed");
    },
  },
  {
    name: "keeps the window of the rotation when later requests name a longer window (REF-7, REF-14)",
    async test({ store, advance }) {
      const token = presented({ graceSeconds: SHORT_SECONDS });
      equal(await store.rotate(token), "rotated");
      await (advance ?? sleep)(SHORT_SECONDS * 1_000);
      await pastWindow(store, async () => store.rotate(again(token, { graceSeconds: 3_600 })));
    },
  },
  {
    name: "ends the window even if the token is sent every few milliseconds (REF-7)",
    async test({ store, replica, advance }) {
      const windowMs = 150;
      const token = presented({ graceSeconds: windowMs / 1_000 });
      equal(await store.rotate(token), "rotated");
      const rotatedBy = performance.now();
      const seen: RotationResult[] = [];
      let lateRace = false;
      await until("the grace window has not ended", async () => {
        // The clocks of the test and the store may differ slightly.
        const closed = performance.now() > rotatedBy + windowMs + 50;
        const result = await (seen.length % 2 === 0 ? store : replica).rotate(again(token));
        seen.push(result);
        if (closed && result === "raced" && advance === undefined) lateRace = true;
        await (advance ?? sleep)(5);
        return result !== "raced";
      });
      equal(lateRace, false, "the store returned raced after the grace window had ended");
      equal(seen.at(-1), "replayed");
      ok(
        seen.length <= 31 || advance === undefined,
        `the grace window lasted for ${seen.length} requests, 5 ms apart`,
      );
    },
  },
  {
    name: "rotates again when the request that rotated the token is repeated (REF-4)",
    async test({ store, replica, advance }) {
      const token = presented({ graceSeconds: 600 });
      equal(await store.rotate(token), "rotated");
      equal(await replica.rotate(token), "rotated");
      equal(await store.rotate(again(token)), "raced");
      equal(await store.rotate(token), "rotated");
      await advance?.(600_000);
      equal(await store.rotate(token), "rotated");
    },
  },
  {
    name: "returns raced again when a losing request is repeated (REF-5)",
    async test({ store }) {
      const token = presented({ graceSeconds: 600 });
      const loser = again(token);
      equal(await store.rotate(token), "rotated");
      deepEqual([await store.rotate(loser), await store.rotate(loser)], ["raced", "raced"]);
    },
  },
  {
    name: "reports a token of a revoked family as replayed, used or not (REF-8)",
    async test({ store, replica }) {
      const used = presented({ graceSeconds: 600 });
      equal(await store.rotate(used), "rotated");
      await replica.revokeFamily(used.fam, 600);
      equal(await store.rotate(successor(used)), "replayed");
      equal(await store.rotate(again(used)), "replayed");
    },
  },
  {
    name: "returns replayed when the request that rotated the token is repeated after the family was revoked (REF-8)",
    async test({ store }) {
      const token = presented({ graceSeconds: 600 });
      equal(await store.rotate(token), "rotated");
      await store.revokeFamily(token.fam, 600);
      equal(await store.rotate(token), "replayed");
    },
  },
  {
    name: "reports a token whose id was revoked as replayed, and revokes its family (REF-8)",
    async test({ store, replica }) {
      const token = presented({ graceSeconds: 600 });
      await replica.revoke(token.jti, 600);
      equal(await store.rotate(token), "replayed");
      equal(await store.isRevoked(revocable(successor(token))), true);
    },
  },
  {
    name: "revokes only the family of the replayed token (REF-6)",
    async test({ store }) {
      const sub = id();
      const stolen = presented({ sub, graceSeconds: 0 });
      const other = presented({ sub, graceSeconds: 0 });
      equal(await store.rotate(stolen), "rotated");
      equal(await store.rotate(again(stolen)), "replayed");
      equal(await store.isRevoked(revocable(other)), false);
      equal(await store.rotate(other), "rotated");
    },
  },
];
