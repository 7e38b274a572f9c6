/** Why a key ring, or a change of it, was refused. */
export type KeyRingFault =
  /** The text is no key ring, or a key in it cannot be used. */
  | "broken"
  /** The file cannot be read or written. */
  | "unreadable"
  /** Others than the owner may read or change the file. */
  | "exposed"
  /** The file is there already. */
  | "exists"
  /** Another command is changing the file. */
  | "locked"
  /** The ring has no such key. */
  | "unknown_key"
  /** The ring has the key already. */
  | "known_key"
  /** The key is in a state that does not allow it. */
  | "wrong_state"
  /** It would be allowed later. */
  | "too_early";

/** Thrown when a key ring cannot be used or changed. Its message names the remedy and never shows a key. */
export class KeyRingError extends Error {
  override readonly name = "KeyRingError";
  readonly code = "ERR_SVC_KEY_RING";
  readonly reason: KeyRingFault;

  /** @param reason why, for programs; `message` is for people */
  constructor(reason: KeyRingFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
