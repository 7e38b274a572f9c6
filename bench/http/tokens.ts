import { createHmac, generateKeyPairSync, type KeyObject, randomBytes, randomUUID, sign } from "node:crypto";

/** The issuer of the tokens, and their audience. */
export const issuerUrl = "https://login.bench.example/";
export const audience = "https://api.bench.example";

export type TokenAlgorithm = "HS256" | "RS256";
export type Claims = Readonly<Record<string, unknown>>;

/** An issuer with its own key, which signs tokens. */
export interface Issuer {
  readonly algorithm: TokenAlgorithm;
  /** The secret for HS256: 64 characters. */
  readonly secret: string;
  /** The public key as SPKI in PEM; undefined for HS256. */
  readonly publicKey: string | undefined;
  /** Signs a token with these claims, usually those of {@link claimsFor}. */
  mint(claims: Claims): string;
}

export function createIssuer(algorithm: TokenAlgorithm): Issuer {
  const secret = randomBytes(32).toString("hex");
  const pair = algorithm === "RS256" ? generateKeyPairSync("rsa", { modulusLength: 2048 }) : undefined;
  return {
    algorithm,
    secret,
    publicKey: pair?.publicKey.export({ type: "spki", format: "pem" }).toString(),
    mint(claims) {
      const signed = `${encode({ alg: algorithm, typ: "JWT" })}.${encode(claims)}`;
      return `${signed}.${signatureOf(signed, pair?.privateKey ?? secret).toString("base64url")}`;
    },
  };
}

/** Returns the claims of an access token. The whole token, signed with HS256, has about 500 characters. */
export function claimsFor(tenant: string): Claims {
  const now = Math.floor(Date.now() / 1000);
  return {
    iss: issuerUrl,
    aud: audience,
    sub: randomUUID(),
    jti: randomUUID().replaceAll("-", ""),
    iat: now - 60,
    exp: now + 86_400,
    scope: "items:read items:write orders:read",
    roles: ["member", "editor"],
    tenant_id: tenant,
  };
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}

function signatureOf(signed: string, key: string | KeyObject): Buffer {
  if (typeof key === "string") return createHmac("sha256", key).update(signed).digest();
  return sign("RSA-SHA256", Buffer.from(signed), key);
}
