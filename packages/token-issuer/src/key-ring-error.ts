/** The reason why a key ring, or a change of it, was rejected. */
export type KeyRingFault =
  /** The text is not a key ring, or a key in it cannot be used. */
  | "broken"
  /** The file cannot be read or written. */
  | "unreadable"
  /** The permissions of the file let other users read or change it. */
  | "exposed"
  /** The file exists already. */
  | "exists"
  /** Another command is changing the file. */
  | "locked"
  /** The ring has no such key. */
  | "unknown_key"
  /** The ring has the key already. */
  | "known_key"
  /** The state of the key does not allow the change. */
  | "wrong_state"
  /** The change is not allowed yet. */
  | "too_early";

/** Thrown when a key ring cannot be used or changed. Its message names the remedy and never shows a key. */
export class KeyRingError extends Error {
  override readonly name = "KeyRingError";
  readonly code = "ERR_SVC_KEY_RING";
  readonly reason: KeyRingFault;

  /** @param reason machine-readable; `message` is for people */
  constructor(reason: KeyRingFault, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
