import type { Rotation } from "@svc/token-store";
import { randomBytes } from "node:crypto";

export function id(): string {
  return randomBytes(16).toString("hex");
}

/** Returns a request to rotate a new refresh token. */
export function presented(changes: Partial<Rotation> = {}): Rotation {
  return {
    jti: id(),
    fam: id(),
    sub: id(),
    signedInAt: 1_700_000_000,
    graceSeconds: 600,
    usedTtlSeconds: 86_400,
    familyTtlSeconds: 86_400,
    nonce: id(),
    ...changes,
  };
}

/** Returns another request with the same token. */
export function again(rotation: Rotation): Rotation {
  return { ...rotation, nonce: id() };
}

/** Returns a request with the token that a rotation issues. */
export function successor(rotation: Rotation): Rotation {
  return again({ ...rotation, jti: id() });
}
