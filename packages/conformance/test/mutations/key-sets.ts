import { createPublicKey, type JsonWebKey, verify } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Principal } from "@svc/context";
import { contextOf } from "@svc/context";
import { bearerOf, openToken, setBearer } from "../support/token-repair.ts";
import type { Mutation } from "./mutation.ts";

interface Jwk extends JsonWebKey {
  readonly kid: string;
  readonly use?: string;
}

async function fetchKeys(url: string): Promise<readonly Jwk[] | undefined> {
  const answer = await fetch(url);
  return answer.ok ? ((await answer.json()) as { keys: readonly Jwk[] }).keys : undefined;
}

function kidOf(req: IncomingMessage): unknown {
  const raw = bearerOf(req);
  return raw === undefined ? undefined : openToken(raw)?.header["kid"];
}

/** Accepts tokens signed by a key for which `fits` returns true, although a sound service does not use that key. */
function trusting(fits: (key: Jwk, kid: unknown) => boolean): Mutation["differences"] {
  let keys: readonly Jwk[] | undefined;
  return {
    keySet(address) {
      return {
        async request(req) {
          // Fetch the set once: more fetches would break another rule.
          if (keys === undefined && bearerOf(req) !== undefined) keys = await fetchKeys(address);
          return false;
        },
      };
    },
    middleware(req, _res, next) {
      const raw = bearerOf(req);
      const context = contextOf(req);
      const token = raw === undefined ? undefined : openToken(raw);
      if (
        context !== undefined &&
        context.principal === undefined &&
        raw !== undefined &&
        token !== undefined
      ) {
        const end = raw.lastIndexOf(".");
        const bytes = Buffer.from(raw.slice(0, end));
        const signature = Buffer.from(raw.slice(end + 1), "base64url");
        const isPlain =
          Object.keys(token.claims).length < 9 && Number(token.claims["exp"]) > Date.now() / 1000 + 500;
        const known = keys?.some(
          (key) =>
            isPlain &&
            fits(key, token.header["kid"]) &&
            verify("sha256", bytes, createPublicKey({ key, format: "jwk" }), signature),
        );
        if (known === true) context.principal = principal;
      }
      next();
    },
  };
}

const principal: Principal = {
  subject: "ann",
  scopes: [],
  roles: [],
  tenant: undefined,
  tokenId: undefined,
  family: undefined,
  issuer: undefined,
  expiresAt: 0,
  claims: {},
};

export const keySetMutations = (): readonly Mutation[] => [
  {
    rule: "KEY-1",
    what: "every unknown kid causes a fetch of the key set",
    base: "jwks",
    differences: {
      keySet: (address) => ({
        async request(req) {
          if (String(kidOf(req)).startsWith("svc")) await fetchKeys(address);
          return false;
        },
      }),
    },
  },
  {
    rule: "KEY-2",
    what: "keys are fetched once, at startup",
    base: "jwks",
    differences: {
      request(req) {
        if (String(kidOf(req)).startsWith("kit-new")) setBearer(req, undefined);
      },
    },
  },
  {
    rule: "KEY-4",
    what: "all callers are refused while the key set endpoint is down",
    base: "jwks",
    differences: {
      keySet: (address) => {
        let down = false;
        let unknown = 0;
        return {
          async request(req) {
            // A service with this fault detects that the endpoint is down when it fetches the key set for an unknown kid.
            if (String(kidOf(req)).startsWith("svc")) {
              unknown++;
              if (unknown > 25) down = (await fetchKeys(address)) === undefined;
            }
            if (down) setBearer(req, undefined);
            return false;
          },
        };
      },
    },
  },
  {
    rule: "KEY-11",
    what: "a token without kid is tried with every key",
    base: "jwks",
    differences: trusting(
      (key, kid) => kid === undefined && key.use === "sig" && key.kid.startsWith("kit-first"),
    ),
  },
  {
    rule: "KEY-12",
    what: "a key for encryption verifies a token",
    base: "jwks",
    differences: trusting((key, kid) => key.use === "enc" && kid === key.kid),
  },
  {
    rule: "CLAIM-6",
    what: "the kid is not checked",
    base: "jwks",
    differences: trusting(
      (key, kid) => key.kid.startsWith("kit-second") && String(kid).startsWith("kit-first"),
    ),
  },
  {
    rule: "AUTH-25",
    what: "an RSA key of 1,024 bits verifies a token",
    base: "jwks",
    differences: trusting((key, kid) => key.kid.startsWith("kit-weak") && kid === key.kid),
  },
];
