import { equal, ok, rejects } from "node:assert/strict";
import type { TokenStore } from "@svc/context";
import { type Bench, type Draft, id, presented, revocable } from "./subjects.ts";

/** A store with `signInTime` and `revokeSubjectNow`, which are optional. */
type Clocked = TokenStore & Required<Pick<TokenStore, "signInTime" | "revokeSubjectNow">>;

function isClocked(store: TokenStore): store is Clocked {
  return store.signInTime !== undefined && store.revokeSubjectNow !== undefined;
}

/** Returns a case for stores with `signInTime` and `revokeSubjectNow`. Stores without them pass. */
function clocked(
  name: string,
  test: (
    bench: Pick<Bench, "advance"> & { readonly store: Clocked; readonly replica: Clocked },
  ) => Promise<void>,
  { needsClock = false }: Pick<Draft, "needsClock"> = {},
): Draft {
  return {
    name,
    needsClock,
    async test({ store, replica, advance }) {
      equal(
        store.signInTime === undefined,
        store.revokeSubjectNow === undefined,
        "the store has only one of signInTime() and revokeSubjectNow()",
      );
      if (isClocked(store) && isClocked(replica)) await test({ store, replica, advance });
    },
  };
}

/** Seconds by which the clock of a replica is ahead. */
const skews = [0, 25, -25, 3_600];

function clockOf(skew: number): number {
  return Date.now() / 1_000 + skew;
}

async function isOver(store: TokenStore, sub: string, signedInAt: number): Promise<boolean> {
  return store.isRevoked(revocable(presented({ sub, signedInAt })));
}

/** Cases about sign-ins before and after a sign-out everywhere, on replicas whose clocks disagree (REV-10). */
export const signOutCases: readonly Draft[] = [
  clocked(
    "ends exactly the sessions that began before a sign-out, on replicas whose clocks disagree (REV-10)",
    async ({ store, replica }) => {
      for (const first of skews) {
        for (const second of skews) {
          const sub = id();
          // Repeat, so that most rounds run within the same second as the previous round.
          for (let round = 0; round < 3; round++) {
            const began = await store.signInTime(sub, clockOf(first));
            equal(await isOver(replica, sub, began), false);
            await replica.revokeSubjectNow(sub, clockOf(second), 600);
            equal(await isOver(store, sub, began), true);
            equal(await store.rotate(presented({ sub, signedInAt: began })), "replayed");
            for (const [each, skew] of [
              [replica, second],
              [store, first],
            ] as const) {
              const next = await each.signInTime(sub, clockOf(skew));
              equal(await isOver(store, sub, next), false);
              equal(await isOver(replica, sub, next), false);
              equal(await each.rotate(presented({ sub, signedInAt: next })), "rotated");
            }
          }
        }
      }
    },
  ),
  clocked(
    "returns whole seconds, and returns the stored time from revokeSubjectNow() (REV-10)",
    async ({ store }) => {
      const sub = id();
      const began = await store.signInTime(sub, clockOf(0.5));
      ok(Number.isInteger(began), `${began}`);
      const notBefore = await store.revokeSubjectNow(sub, clockOf(0.5), 600);
      ok(Number.isInteger(notBefore) && notBefore > began, `${notBefore}`);
      equal(await isOver(store, sub, notBefore - 1), true);
      equal(await isOver(store, sub, notBefore), false);
    },
  ),
  clocked(
    "rounds a stored sign-out time with a fraction up for the next sign-in time (REV-10)",
    async ({ store }) => {
      const sub = id();
      const ahead = (await store.signInTime(sub, clockOf(0))) + 20.5;
      await store.revokeSubject(sub, ahead, 600);
      const began = await store.signInTime(sub, clockOf(0));
      equal(began, Math.ceil(ahead));
      equal(await isOver(store, sub, began), false);
      await store.revokeSubjectNow(sub, clockOf(0), 600);
      equal(await isOver(store, sub, began), true);
    },
  ),
  clocked(
    "signs out only the given person, and ends no session when signInTime() is called (REV-10)",
    async ({ store }) => {
      const [one, other] = [id(), id()];
      const began = await store.signInTime(other, clockOf(0));
      await store.revokeSubjectNow(one, clockOf(0), 600);
      equal(await isOver(store, other, began), false);
      equal(await isOver(store, other, 0), false);
    },
  ),
  clocked(
    "ends every session begun before concurrent sign-outs, and keeps every session begun after them (REV-10)",
    async ({ store, replica }) => {
      for (let round = 0; round < 5; round++) {
        const sub = id();
        const before = await Promise.all(
          skews.map(async (skew, n) => (n % 2 === 0 ? store : replica).signInTime(sub, clockOf(skew))),
        );
        await Promise.all(
          skews.map(async (skew, n) =>
            (n % 2 === 0 ? replica : store).revokeSubjectNow(sub, clockOf(skew), 600),
          ),
        );
        for (const began of before) equal(await isOver(store, sub, began), true);
        for (const skew of skews) {
          equal(await isOver(replica, sub, await replica.signInTime(sub, clockOf(skew))), false);
        }
      }
    },
  ),
  clocked(
    "keeps a sign-out for its duration, and never shortens an earlier one (REV-10, REV-2)",
    async ({ store, advance }) => {
      const sub = id();
      await store.revokeSubjectNow(sub, clockOf(0), 900);
      await store.revokeSubjectNow(sub, clockOf(0), 1);
      await advance?.(899_999);
      equal(await isOver(store, sub, 0), true);
      await advance?.(1);
      equal(await isOver(store, sub, 0), false);
    },
    { needsClock: true },
  ),
  clocked(
    "rejects a duration that is not a finite number, and signs out no session (REV-2)",
    async ({ store }) => {
      const sub = id();
      for (const wrong of [Number.NaN, Number.POSITIVE_INFINITY]) {
        await rejects(async () => store.revokeSubjectNow(sub, clockOf(0), wrong));
      }
      equal(await isOver(store, sub, 0), false);
    },
  ),
];
