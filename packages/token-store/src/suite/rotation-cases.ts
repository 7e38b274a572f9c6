import { deepEqual, equal, ok } from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import type { RotationResult, TokenStore } from "../token-store.ts";
import type { Draft } from "./cases.ts";
import { again, id, presented, revocable, successor, until } from "./subjects.ts";

const SHORT_SECONDS = 0.2;

/** Presents a token until it is no longer told that it raced. */
async function pastWindow(store: TokenStore, present: () => Promise<RotationResult>): Promise<void> {
  let last: RotationResult = "raced";
  await until("the window closes", async () => (last = await present()) !== "raced");
  equal(last, "replayed");
}

/** The rows of the state table of a presented refresh token. */
export const rotationCases: readonly Draft[] = [
  {
    name: "REF-4 REF-18 a token that is presented for the first time is rotated",
    async test({ store }) {
      const token = presented();
      equal(await store.rotate(token), "rotated");
      equal(await store.isRevoked(revocable(token)), false);
      equal(await store.isRevoked(revocable(successor(token))), false);
    },
  },
  {
    name: "REF-4 the tokens of a session are rotated one after the other",
    async test({ store, replica }) {
      let token = presented();
      for (let round = 0; round < 5; round++) {
        equal(await (round % 2 === 0 ? store : replica).rotate(token), "rotated");
        token = successor(token);
      }
    },
  },
  {
    name: "REF-5 REF-14 REF-18 a token that was just replaced has raced, and nothing is revoked",
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
    name: "REF-6 REF-18 a used token after the window is replayed, and its family is revoked",
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
    name: "REF-14 without a window every second use is replayed",
    async test({ store }) {
      const token = presented({ graceSeconds: 0 });
      equal(await store.rotate(token), "rotated");
      equal(await store.rotate(again(token)), "replayed");
      equal(await store.isRevoked(revocable(successor(token))), true);
    },
  },
  {
    name: "REF-14 the window ends on the millisecond",
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
    name: "REF-7 REF-14 the window is that of the rotation, whatever later presentations ask for",
    async test({ store, advance }) {
      const token = presented({ graceSeconds: SHORT_SECONDS });
      equal(await store.rotate(token), "rotated");
      await (advance ?? sleep)(SHORT_SECONDS * 1_000);
      await pastWindow(store, async () => store.rotate(again(token, { graceSeconds: 3_600 })));
    },
  },
  {
    name: "REF-7 a token that is presented every few milliseconds does not keep its window open",
    async test({ store, replica, advance }) {
      const windowMs = 150;
      const token = presented({ graceSeconds: windowMs / 1_000 });
      equal(await store.rotate(token), "rotated");
      const rotatedBy = performance.now();
      const seen: RotationResult[] = [];
      let lateRace = false;
      await until("the window closes", async () => {
        // Clocks that are set while they run may disagree by a little.
        const closed = performance.now() > rotatedBy + windowMs + 50;
        const result = await (seen.length % 2 === 0 ? store : replica).rotate(again(token));
        seen.push(result);
        if (closed && result === "raced" && advance === undefined) lateRace = true;
        await (advance ?? sleep)(5);
        return result !== "raced";
      });
      equal(lateRace, false, "raced after the window");
      equal(seen.at(-1), "replayed");
      ok(seen.length <= 31 || advance === undefined, `${seen.length} presentations in the window`);
    },
  },
  {
    name: "REF-4 the winner's own request, sent again, has won",
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
    name: "REF-5 a request that lost, sent again, has lost",
    async test({ store }) {
      const token = presented({ graceSeconds: 600 });
      const loser = again(token);
      equal(await store.rotate(token), "rotated");
      deepEqual([await store.rotate(loser), await store.rotate(loser)], ["raced", "raced"]);
    },
  },
  {
    name: "REF-8 a token of a revoked family is replayed, used or not",
    async test({ store, replica }) {
      const used = presented({ graceSeconds: 600 });
      equal(await store.rotate(used), "rotated");
      await replica.revokeFamily(used.fam, 600);
      equal(await store.rotate(successor(used)), "replayed");
      equal(await store.rotate(again(used)), "replayed");
    },
  },
  {
    name: "REF-8 the winner's own request, sent again after the family was revoked, is replayed",
    async test({ store }) {
      const token = presented({ graceSeconds: 600 });
      equal(await store.rotate(token), "rotated");
      await store.revokeFamily(token.fam, 600);
      equal(await store.rotate(token), "replayed");
    },
  },
  {
    name: "REF-8 a token whose id was revoked is replayed, and its family is revoked",
    async test({ store, replica }) {
      const token = presented({ graceSeconds: 600 });
      await replica.revoke(token.jti, 600);
      equal(await store.rotate(token), "replayed");
      equal(await store.isRevoked(revocable(successor(token))), true);
    },
  },
  {
    name: "REF-6 a replay revokes its own family and no other",
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
