import type { RefreshRefusal } from "./refusals.ts";

/** What happened to a session, for the application alone: nothing of it is sent anywhere (ISS-18). */
export interface IssuerEvent {
  /**
   * `issued` a pair, `rotated` a refresh token, `refused` a refresh (see `refusal`), `replayed` a used refresh token and
   * with that ended a session, `declined` by the hook, `logged_out` a session, `revoked` a token, session or person.
   */
  readonly type: "issued" | "rotated" | "refused" | "replayed" | "declined" | "logged_out" | "revoked";
  /** Undefined where no token held that would tell. */
  readonly subject?: string | undefined;
  readonly tenant?: string | undefined;
  /** The session family. */
  readonly family?: string | undefined;
  /** Why, for `refused`, `replayed` and `declined`. */
  readonly refusal?: RefreshRefusal | undefined;
}
