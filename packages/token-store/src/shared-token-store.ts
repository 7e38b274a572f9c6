import type { ReadinessCheck, RevocableToken, Rotation, RotationResult, TokenStore } from "@svc/context";

/** A token store on a server, for any number of replicas. */
export interface SharedTokenStore extends TokenStore {
  readonly shared: true;
  isRevoked(token: RevocableToken): Promise<boolean>;
  revoke(jti: string, ttlSeconds: number): Promise<void>;
  revokeFamily(fam: string, ttlSeconds: number): Promise<void>;
  revokeSubject(sub: string, notBefore: number, ttlSeconds: number): Promise<void>;
  signInTime(sub: string, nowSeconds: number): Promise<number>;
  revokeSubjectNow(sub: string, nowSeconds: number, ttlSeconds: number): Promise<number>;
  rotate(rotation: Rotation): Promise<RotationResult>;
  readiness(): ReadinessCheck;
}
