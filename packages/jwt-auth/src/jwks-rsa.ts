export { fromJwksRsa, type JwksRsaClient } from "./jwks-rsa-source.ts";
export { expressJwtSecret, passportJwtSecret } from "./secret-provider.ts";
export type { RefreshOptions } from "./key-set-options.ts";
export { KeySetError } from "./key-set-error.ts";
export type { RefreshedKeySource } from "./refreshed-keys.ts";
