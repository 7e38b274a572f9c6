import { createKeySetSource } from "@svc/jwt-auth";
import { createRemoteJWKSet } from "jose";
import jwksRsa, { type Options } from "jwks-rsa";

/** One way to keep the keys of an endpoint. */
export interface Keys {
  /** Resolves with something for a key that is there; undefined or a rejection is no answer. */
  keyOf(kid: string): Promise<unknown>;
  stop(): void;
}

/** @param maxAgeMs for how long a set is fresh; what is not said is left as it comes */
export type Case = (url: string, maxAgeMs: number) => Keys;

export const ours = "svc";

const HOUR_MS = 3_600_000;
const nothing = (): void => undefined;

export const cases: Readonly<Record<string, Case>> = {
  [ours](url, maxAgeMs) {
    const maxAgeSeconds = maxAgeMs / 1000;
    const source = createKeySetSource({ url, env: "local", algorithms: ["ES256"], maxAgeSeconds });
    return {
      // As a verifier asks.
      keyOf: async (kid) => source.find(kid, "ES256") ?? source.refresh(kid, "ES256"),
      stop: () => source.stop(),
    };
  },
  jose(url, cacheMaxAge) {
    const keys = createRemoteJWKSet(new URL(url), { cacheMaxAge });
    return { keyOf: (kid) => keys({ alg: "ES256", kid }), stop: nothing };
  },
  "jwks-rsa": (url, cacheMaxAge) => jwksRsaKeys({ jwksUri: url, cacheMaxAge }),
  // As its examples recommend; 10 a minute is the default of the limit once it is switched on.
  "jwks-rsa-limited": (url, cacheMaxAge) =>
    jwksRsaKeys({ jwksUri: url, cacheMaxAge, rateLimit: true, jwksRequestsPerMinute: 10 }),
};

function jwksRsaKeys(options: Options): Keys {
  // Without the fallback it would answer nothing during an outage.
  const client = jwksRsa({ cache: true, cacheMaxAgeFallback: HOUR_MS, ...options });
  return { keyOf: (kid) => client.getSigningKey(kid), stop: nothing };
}
