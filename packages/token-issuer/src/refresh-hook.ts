import type { Principal } from "@svc/context";
import { internalError } from "@svc/problem";
import { withDeadline } from "@svc/resilience";
import { isScopeList } from "./pair-request.ts";

/** The rights of a session after a refresh (REF-16). Its roles remain as issued. */
export interface Grant {
  readonly scopes: readonly string[];
}

/**
 * Called at every refresh. Returns what the session may do from now on; undefined or null ends it. After a throw the session
 * continues, and the client may retry with the same token.
 *
 * @param principal of the refresh token, without scopes and roles (CLAIM-7); its previous grant is in `claims.grt`
 * @param signal aborts at the time limit
 */
export type RefreshHook = (
  principal: Principal,
  signal: AbortSignal,
) => Grant | null | undefined | Promise<Grant | null | undefined>;

/**
 * Runs the hook of an application.
 *
 * @returns the scopes from the hook; undefined when the hook ends the session
 * @throws ProblemError 500 when the hook throws, takes too long or returns an invalid value (REF-11)
 */
export async function askHook(
  hook: RefreshHook,
  principal: Principal,
  timeoutMs: number,
): Promise<readonly string[] | undefined> {
  let grant: unknown;
  try {
    grant = await withDeadline(timeoutMs, (signal) => hook(principal, signal));
  } catch (cause) {
    throw hookFailed(cause);
  }
  if (grant === undefined || grant === null) return undefined;
  const scopes = typeof grant === "object" ? (grant as Partial<Grant>).scopes : undefined;
  if (isScopeList(scopes)) return scopes;
  throw hookFailed(
    new TypeError("onRefresh must return { scopes: [...] } with strings without white space, or undefined"),
  );
}

/** Creates the 500 error for a hook that failed (REF-11). */
export function hookFailed(cause: unknown): Error {
  return internalError({ code: "ERR_SVC_REFRESH_HOOK", cause });
}
