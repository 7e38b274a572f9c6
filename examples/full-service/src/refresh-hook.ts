import { isDeepStrictEqual } from "node:util";
import type { Database } from "@svc/database";
import type { RefreshHook } from "@svc/token-issuer";
import { touchSession } from "./sessions.ts";
import { findUser } from "./users.ts";

/** Options of {@link refreshHook}. */
export interface RefreshHookOptions {
  readonly db: Database;
  readonly prepared: () => Promise<void>;
}

/** The rights of a session at its start. */
interface Granted {
  readonly scopes: readonly string[];
  readonly roles?: readonly string[];
}

/**
 * Returns the hook that gives a session the current scopes of its user at every refresh, and ends it if the user was
 * deleted (REF-9). Roles and tenant of a session cannot change, so it also ends if those of the user have changed.
 */
export function refreshHook({ db, prepared }: RefreshHookOptions): RefreshHook {
  return async function onRefresh({ subject, tenant, family = "", claims }) {
    const { scopes, roles = [] } = claims["grt"] as Granted;
    await prepared();
    const isOurs = await touchSession(db, family);
    const user = await findUser(db, subject);
    // Another service with the same secret may issue tokens for its own users. Keep their scopes.
    if (user === undefined) return isOurs ? undefined : { scopes };
    const isAsBefore = user.tenant === tenant && isDeepStrictEqual(user.roles, roles);
    return isAsBefore ? { scopes: user.scopes } : undefined;
  };
}
