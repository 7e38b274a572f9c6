import { createHmac, generateKeyPairSync, type KeyObject, randomBytes, randomUUID, sign } from "node:crypto";

/** Who issues the tokens, and whom they are for. */
export const issuerUrl = "https://login.bench.example/";
export const audience = "https://api.bench.example";

export type TokenAlgorithm = "HS256" | "RS256";
export type Claims = Readonly<Record<string, unknown>>;

/** Keys of one process, and tokens signed with them. */
export interface Issuer {
  readonly algorithm: TokenAlgorithm;
  /** Of 64 characters; what HS256 signs with. */
  readonly secret: string;
  /** SPKI as PEM; undefined for HS256. */
  readonly publicKey: string | undefined;
  /** A token with these claims: those of {@link claimsFor}, as a rule. */
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

/** What an access token says: with the header and an HS256 signature some 500 characters. */
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
