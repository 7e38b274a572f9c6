import type { TokenStore } from "../token-store.ts";
import { concurrencyCases } from "./concurrency-cases.ts";
import { expiryCases } from "./expiry-cases.ts";
import { revocationCases } from "./revocation-cases.ts";
import { rotationCases } from "./rotation-cases.ts";
import { signOutCases } from "./sign-out-cases.ts";
import type { TokenStoreSuite } from "./subjects.ts";

export type { TokenStoreSuite } from "./subjects.ts";

/** One case of the suite: `it(name, run)` in any test runner. */
export interface TokenStoreCase {
  /** A sentence that states the behaviour, with the ids of the rules that it proves. */
  readonly name: string;
  /** Rejects with an AssertionError when the store does not behave so. Takes up to 20 s where nothing moves its clock. */
  readonly run: () => Promise<void>;
}

/** What a case works on. */
export interface Bench {
  readonly store: TokenStore;
  readonly replica: TokenStore;
  /** Moves the clock of the store on; undefined where there is only the real one. */
  readonly advance: ((ms: number) => void | Promise<void>) | undefined;
}

/** A case before it is bound to a store. */
export interface Draft {
  readonly name: string;
  /** Whether it is left out where the clock cannot be moved. */
  readonly needsClock?: boolean;
  readonly test: (bench: Bench) => Promise<void>;
}

/**
 * What every token store must do (REF-18), for stores of your own too: register each case with your test runner. The
 * cases are independent, work in any order, and leave nothing behind but entries that expire.
 */
export function tokenStoreCases(suite: TokenStoreSuite): readonly TokenStoreCase[] {
  const { create, createReplica, advance, release = stopped } = suite;
  return [...rotationCases, ...revocationCases, ...signOutCases, ...expiryCases, ...concurrencyCases]
    .filter(({ needsClock }) => needsClock !== true || advance !== undefined)
    .map(({ name, test }) => ({
      name,
      async run(): Promise<void> {
        const store = await create();
        let replica = store;
        try {
          if (createReplica !== undefined) replica = await createReplica(store);
          await test({ store, replica, advance });
        } finally {
          if (replica !== store) await release(replica);
          await release(store);
        }
      },
    }));
}

async function stopped(store: TokenStore): Promise<void> {
  await store.stop?.();
}
