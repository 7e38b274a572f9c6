// The middleware, its guards and its accessors.
export { type JwtAuth, jwtAuth } from "./jwt-auth.ts";
export type { AuthenticatedLocals, AuthGuard, CallerOf } from "./authenticated.ts";
export { optionalAuth, requireAuth, requireRoles, requireScopes } from "./guards.ts";
export { type ClaimNames, currentPrincipal, principalOf, toPrincipal } from "./principal.ts";
export type { JwtAuthOptions } from "./options.ts";
export type { IssuerOptions } from "./issuer-options.ts";
export type { RevocableToken } from "@svc/context";
export type { RevocationCheck } from "./revocation.ts";

// The verifier, independent of HTTP.
export { createVerifier, type Verifier } from "./verifier.ts";
export type { VerifierOptions } from "./verifier-options.ts";
export {
  type RefusalReason,
  refusalReasons,
  type Refused,
  type Verification,
  type Verified,
} from "./verification.ts";
export {
  type Algorithm,
  algorithms,
  checkAlgorithms,
  ecdsaBytes,
  isAlgorithm,
  isSymmetric,
} from "./algorithms.ts";
export type { EnvironmentName as Env } from "@svc/options";

// Key sources.
export type { KeySource } from "./key-source.ts";
export type { Jwk, JwkSet, KeyCall, KeyFunction, VerificationKey } from "./key-input.ts";
export type { UnverifiedHeader } from "./token-parser.ts";
export { createKeySetSource } from "./key-set-source.ts";
export type { KeySetOptions, RefreshOptions } from "./key-set-options.ts";
export type { RefreshedKeySource } from "./refreshed-keys.ts";
export { KeySetError } from "./key-set-error.ts";
export { createPemSource, type PemSourceOptions } from "./pem-source.ts";
export { createSecretSource, type SecretSourceOptions } from "./secret-source.ts";
