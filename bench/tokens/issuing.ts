import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { type Algorithm, createVerifier, type Verification } from "@svc/jwt-auth";
import {
  createKeyRing,
  createTokenIssuer,
  type IssuerStore,
  type KeyRing,
  type PairRequest,
  type TokenIssuer,
} from "@svc/token-issuer";
import { expectEqual } from "../harness/expect-equal.ts";

/** An issuer with its own key, and a verifier for its access tokens. */
export interface Issuing {
  readonly issuer: TokenIssuer;
  readonly verify: (token: string) => Promise<Verification>;
}

/** The request of a typical service for a pair of tokens. */
export const pairRequest: PairRequest = {
  subject: "6f1d6c0e-3a53-4d8f-9a51-0f4f8f0a7b21",
  scopes: ["items:read", "items:write", "orders:read"],
  roles: ["member", "editor"],
  tenant: "tenant-00",
};

const issuerUrl = "https://login.bench.example/";
const audience = "https://api.bench.example";

export function createIssuing(algorithm: Algorithm, store: IssuerStore): Issuing {
  const keys = ringOf(algorithm);
  const issuer = createTokenIssuer({ keys, store, issuer: issuerUrl, audience, env: "local" });
  const verifier = createVerifier({ keys, issuer: issuerUrl, audience, cacheTokens: 0 });
  return { issuer, verify: async (token) => verifier.verify(token) };
}

/** @throws Error unless `algorithm` signs the pairs, they differ each time, and other tokens are refused */
export async function provePairs({ issuer, verify }: Issuing, algorithm: Algorithm): Promise<void> {
  const [pair, other] = [await issuer.issuePair(pairRequest), await issuer.issuePair(pairRequest)];
  expectEqual("the algorithm", headerOf(pair.access_token)["alg"], algorithm);
  const { principal } = await verify(pair.access_token);
  expectEqual("the subject of an access token", principal?.subject, pairRequest.subject);
  expectEqual("its tenant", principal?.tenant, pairRequest.tenant);
  expectEqual("its scopes", principal?.scopes.length, 3);
  const { principal: second } = await verify(other.access_token);
  expectEqual("whether two pairs have the same token id", principal?.tokenId === second?.tokenId, false);
  expectEqual("whether two pairs have the same session", principal?.family === second?.family, false);
  expectEqual(
    "the reason for refusing a refresh token as an access token",
    await reasonOf(pair.refresh_token),
    "token_use",
  );
  expectEqual(
    "the reason for refusing a bad signature",
    await reasonOf(tampered(pair.access_token)),
    "signature",
  );
  const foreign = await createIssuing(algorithm, neverAsked).issuer.issuePair(pairRequest);
  expectEqual("a foreign key", (await verify(foreign.access_token)).principal, undefined);

  async function reasonOf(token: string): Promise<string | undefined> {
    return (await verify(token)).reason;
  }
}

/** Returns the token with a different signature. */
export function tampered(token: string): string {
  const at = token.lastIndexOf(".") + 1;
  return token.slice(0, at) + (token[at] === "A" ? "B" : "A") + token.slice(at + 1);
}

const neverAsked: IssuerStore = {
  isRevoked: () => false,
  revoke: () => undefined,
  revokeFamily: () => undefined,
  revokeSubject: () => undefined,
  rotate: () => "rotated",
};

function ringOf(algorithm: Algorithm): KeyRing {
  if (algorithm.startsWith("HS"))
    return createKeyRing({ secret: randomBytes(32).toString("hex"), algorithm });
  const privateKey = newKey(algorithm).export({ type: "pkcs8", format: "pem" }).toString();
  return createKeyRing({ privateKey, algorithm });
}

function newKey(algorithm: Algorithm): KeyObject {
  if (algorithm === "ES256") return generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  if (algorithm === "EdDSA") return generateKeyPairSync("ed25519").privateKey;
  return generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey;
}

function headerOf(token: string): Readonly<Record<string, unknown>> {
  return JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString()) as Record<
    string,
    unknown
  >;
}
