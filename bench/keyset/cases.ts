import { createKeySetSource } from "@svc/jwt-auth";
import { createRemoteJWKSet } from "jose";
import jwksRsa, { type Options } from "jwks-rsa";

/** A client that caches the keys of an endpoint. */
export interface Keys {
  /** Resolves with a value for a known key; undefined or a rejection counts as no response. */
  keyOf(kid: string): Promise<unknown>;
  stop(): void;
}

/** @param maxAgeMs how long a key set is fresh; all other settings are the client's defaults */
export type Case = (url: string, maxAgeMs: number) => Keys;

export const ours = "svc";

const HOUR_MS = 3_600_000;
const nothing = (): void => undefined;

export const cases: Readonly<Record<string, Case>> = {
  [ours](url, maxAgeMs) {
    const maxAgeSeconds = maxAgeMs / 1000;
    const source = createKeySetSource({ url, env: "local", algorithms: ["ES256"], maxAgeSeconds });
    return {
      // The client makes the same calls as a verifier.
      keyOf: async (kid) => source.find(kid, "ES256") ?? source.refresh(kid, "ES256"),
      stop: () => source.stop(),
    };
  },
  jose(url, cacheMaxAge) {
    const keys = createRemoteJWKSet(new URL(url), { cacheMaxAge });
    return { keyOf: (kid) => keys({ alg: "ES256", kid }), stop: nothing };
  },
  "jwks-rsa": (url, cacheMaxAge) => jwksRsaKeys({ jwksUri: url, cacheMaxAge }),
  // The settings that the examples of jwks-rsa recommend; 10 requests a minute is its default once the limit is on.
  "jwks-rsa-limited": (url, cacheMaxAge) =>
    jwksRsaKeys({ jwksUri: url, cacheMaxAge, rateLimit: true, jwksRequestsPerMinute: 10 }),
};

function jwksRsaKeys(options: Options): Keys {
  // Without the fallback, jwks-rsa would fail every call during an outage.
  const client = jwksRsa({ cache: true, cacheMaxAgeFallback: HOUR_MS, ...options });
  return { keyOf: (kid) => client.getSigningKey(kid), stop: nothing };
}
