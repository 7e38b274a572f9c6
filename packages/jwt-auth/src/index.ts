export { type Algorithm, algorithms } from "./algorithms.ts";
export type { KeySource } from "./key-source.ts";
export {
  type RefusalReason,
  refusalReasons,
  type Refused,
  type Verification,
  type Verified,
} from "./verification.ts";
export { checkAlgorithms } from "./algorithm-list.ts";
export type { Env } from "./env.ts";
export { createPemSource, type PemSourceOptions } from "./pem-source.ts";
export { type ClaimNames, toPrincipal } from "./to-principal.ts";
export { createSecretSource, type SecretSourceOptions } from "./secret-source.ts";
export { createVerifier, type Verifier } from "./verifier.ts";
export type { VerifierOptions } from "./verifier-options.ts";
export { KeySetError } from "./key-set-error.ts";
export type { KeySetOptions, RefreshOptions } from "./key-set-options.ts";
export { createKeySetSource } from "./key-set-source.ts";
export type { RefreshedKeySource } from "./refreshed-keys.ts";
