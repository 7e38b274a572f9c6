export type { RevocableToken, Rotation, RotationResult, TokenStore } from "./token-store.ts";
