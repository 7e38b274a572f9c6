// The issuer, which does not depend on HTTP, and its routes.
export { createTokenIssuer, type TokenIssuer, type TokenPair } from "./token-issuer.ts";
export type { TokenIssuerOptions } from "./options.ts";
export { authRoutes, type AuthRoutesOptions } from "./auth-routes.ts";
export type { PairRequest } from "./pair-request.ts";
export type { Grant, RefreshHook } from "./refresh-hook.ts";
export type { IssuerEvent } from "./events.ts";
export { IssueError, type RefreshRefusal } from "./refusals.ts";
export type { TokenStore as IssuerStore } from "@svc/context";

// The signing keys.
export { createKeyRing } from "./create-key-ring.ts";
export type { KeyRingOptions } from "./key-ring-options.ts";
export type {
  KeyNote,
  KeyRing,
  KeyState,
  Lifetimes,
  PublicJwk,
  PublishedKeySet,
  Signer,
} from "./key-ring.ts";
export { type KeyRingFault, KeyRingError } from "./key-ring-error.ts";

// The ring as a document, for programs that store it themselves.
export { generateKey, type GenerateKeyOptions, type KeyMaterial, thumbprint } from "./key-material.ts";
export { addKey, newRing, promoteKey, retireKey, SETTLE_SECONDS } from "./ring-rules.ts";
export { readRing, writeRing } from "./ring-text.ts";
export type { RingDocument, RingKey } from "./ring-document.ts";
