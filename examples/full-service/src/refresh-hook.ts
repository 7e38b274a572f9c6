import { isDeepStrictEqual } from "node:util";
import type { Database } from "@svc/database";
import type { RefreshHook } from "@svc/token-issuer";
import { touchSession } from "./sessions.ts";
import { findUser } from "./users.ts";

/** What {@link refreshHook} stands on. */
export interface RefreshHookOptions {
  readonly db: Database;
  readonly prepared: () => Promise<void>;
}

/** What a session was granted when it began. */
interface Granted {
  readonly scopes: readonly string[];
  readonly roles?: readonly string[];
}

/**
 * At every refresh the session gets the scopes that its user has by now, and ends when the user is gone (REF-9). Roles and
 * tenant of a session are for good, so it ends as well when its user has others.
 */
export function refreshHook({ db, prepared }: RefreshHookOptions): RefreshHook {
  return async function onRefresh({ subject, tenant, family = "", claims }) {
    const { scopes, roles = [] } = claims["grt"] as Granted;
    await prepared();
    const isOurs = await touchSession(db, family);
    const user = await findUser(db, subject);
    // Whoever else has the secret makes tokens for people of theirs; those keep what they were granted.
    if (user === undefined) return isOurs ? undefined : { scopes };
    const isAsBefore = user.tenant === tenant && isDeepStrictEqual(user.roles, roles);
    return isAsBefore ? { scopes: user.scopes } : undefined;
  };
}
