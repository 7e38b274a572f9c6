import type { Database } from "@svc/database";
import type { RefreshHook } from "@svc/token-issuer";
import { touchSession } from "./sessions.ts";
import { findUser } from "./users.ts";

/** What {@link refreshHook} stands on. */
export interface RefreshHookOptions {
  readonly db: Database;
  readonly prepared: () => Promise<void>;
}

/** At every refresh the session gets what its user may do by now, and ends when the user is gone (REF-9). */
export function refreshHook({ db, prepared }: RefreshHookOptions): RefreshHook {
  return async function onRefresh({ subject, family = "", claims }) {
    await prepared();
    const isOurs = await touchSession(db, family);
    const user = await findUser(db, subject);
    if (user !== undefined) return { scopes: user.scopes };
    // Whoever else has the secret makes tokens for people of theirs; those keep what they were granted.
    return isOurs ? undefined : { scopes: (claims["grt"] as { scopes: readonly string[] }).scopes };
  };
}
