import type { RefreshRefusal } from "./refusals.ts";

/** A change of a session. Only the application receives it, through `onEvent` (ISS-18). */
export interface IssuerEvent {
  /**
   * `issued`: a new pair; `rotated`: a refresh; `refused`: a rejected refresh; `replayed`: a reused refresh token, which
   * ended its session; `declined`: a session ended by the hook; `logged_out`: a session ended by its caller; `revoked`: a
   * revoked token, session or person.
   */
  readonly type: "issued" | "rotated" | "refused" | "replayed" | "declined" | "logged_out" | "revoked";
  /** Undefined when no verified token names the person. */
  readonly subject?: string | undefined;
  readonly tenant?: string | undefined;
  /** The session family. */
  readonly family?: string | undefined;
  /** The reason for `refused`, `replayed` and `declined`. */
  readonly refusal?: RefreshRefusal | undefined;
}
