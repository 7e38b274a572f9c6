/** Why a token store rejected an operation. */
export type TokenStoreErrorCode = "ERR_SVC_TOKEN_STORE_FULL" | "ERR_SVC_TOKEN_STORE_ARGUMENT";

/**
 * Thrown when a store is full or an argument is malformed. The operation has had no effect, so a refresh must not issue
 * tokens.
 */
export class TokenStoreError extends Error {
  override readonly name = "TokenStoreError";
  readonly code: TokenStoreErrorCode;
  /** Tells the caller that the operation has had no effect, so that a retry has no benefit. */
  readonly ambiguous = false;

  constructor(code: TokenStoreErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
