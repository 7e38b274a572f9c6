/** Why a token store refused. */
export type TokenStoreErrorCode = "ERR_SVC_TOKEN_STORE_FULL" | "ERR_SVC_TOKEN_STORE_ARGUMENT";

/**
 * Thrown when a store cannot or will not remember something. The operation has had no effect: a caller that fails
 * closed, as a refresh must, issues nothing.
 */
export class TokenStoreError extends Error {
  override readonly name = "TokenStoreError";
  readonly code: TokenStoreErrorCode;

  constructor(code: TokenStoreErrorCode, message: string) {
    super(message);
    this.code = code;
  }
}
