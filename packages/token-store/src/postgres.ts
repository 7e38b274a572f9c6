export type { PostgresTokenStoreOptions } from "./sql/options.ts";
export { tokenStoreStatements } from "./sql/schema.ts";
export { createPostgresTokenStore, type PostgresTokenStore } from "./sql/store.ts";
export type { RevocableToken, Rotation, RotationResult, TokenStore } from "@svc/context";
