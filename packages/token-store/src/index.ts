export { createMemoryTokenStore, type MemoryTokenStore } from "./memory.ts";
export type { MemoryTokenStoreOptions } from "./options.ts";
export { TokenStoreError, type TokenStoreErrorCode } from "./token-store-error.ts";
export type { RevocableToken, Rotation, RotationResult, TokenStore } from "@svc/context";
