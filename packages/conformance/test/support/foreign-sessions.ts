import { randomUUID } from "node:crypto";
import { signToken } from "./token-repair.ts";

/** The response of a foreign service. A string as body becomes the detail of a problem document. */
export type Outcome = readonly [status: number, body: unknown];

interface Claims {
  readonly jti: string;
  readonly fam: string;
  readonly typ: string;
}

/**
 * Hand-written sessions that follow no convention: other member names, no kid, ids with dashes, other messages, a
 * logout that returns 200, and other token lifetimes.
 */
export interface ForeignSessions {
  signIn(): Outcome;
  refresh(claims: Claims | undefined): Outcome;
  logout(claims: Claims | undefined): Outcome;
  isRevoked(claims: Partial<Claims>): boolean;
}

export const foreignLifetimes = { graceSeconds: 1, accessSeconds: 300, refreshSeconds: 7200 } as const;

export function createForeignSessions(): ForeignSessions {
  const usedAt = new Map<string, number>();
  const ended = new Set<string>();

  function pair(fam: string): Outcome {
    const iat = Math.floor(Date.now() / 1000);
    const make = (typ: string, seconds: number): string =>
      signToken({
        header: { alg: "RS256" },
        claims: {
          sub: "customer-7",
          aud: "foreign",
          iat,
          exp: iat + seconds,
          jti: randomUUID(),
          fam,
          ...(typ === "refresh" ? { typ, grt: { scopes: ["read"] } } : { scope: "read" }),
        },
      });
    const { accessSeconds, refreshSeconds } = foreignLifetimes;
    return [200, { access: make("access", accessSeconds), refresh: make("refresh", refreshSeconds) }];
  }

  return {
    signIn: () => pair(randomUUID()),
    refresh(claims) {
      if (claims === undefined || claims.typ !== "refresh") return [401, "no"];
      const { jti, fam } = claims;
      if (ended.has(fam) || !("grt" in claims)) return [401, "no more"];
      const at = usedAt.get(jti);
      if (at === undefined) {
        usedAt.set(jti, performance.now());
        return pair(fam);
      }
      if (performance.now() - at > foreignLifetimes.graceSeconds * 1000) ended.add(fam);
      return [401, "used"];
    },
    logout(claims) {
      if (claims === undefined) return [401, "sign in"];
      ended.add(claims.fam ?? claims.jti);
      return [200, { bye: true }];
    },
    isRevoked: ({ jti = "", fam = "" }) => ended.has(jti) || ended.has(fam),
  };
}
