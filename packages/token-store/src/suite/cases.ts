import type { TokenStore } from "@svc/context";
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
  /** Rejects with an AssertionError when the store fails the case. Takes up to 20 s when the suite has no `advance`. */
  readonly run: () => Promise<void>;
}

/**
 * Returns the cases that every token store must pass (REF-18), to register with your test runner. The cases are
 * independent, run in any order, and leave only entries that expire.
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
