import { generateKeyPairSync } from "node:crypto";
import type { Keys } from "@svc/conformance";

const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
export const publicPem: string = publicKey.export({ type: "spki", format: "pem" }).toString();
export const privatePem: string = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
export const secret = "a-secret-of-forty-characters-or-somewhat-more";

const elliptic = generateKeyPairSync("ec", { namedCurve: "P-256" });

export const rsaKeys: Keys = {
  algorithm: "RS256",
  algorithms: ["RS256", "PS256"],
  privateKey: privatePem,
  issuer: "https://issuer.example",
  audience: "tested",
};

export const rsaAuth = `
[plugin.auth]
mode = "public_key"
algorithms = ["RS256", "PS256"]
public_key = """${publicPem}"""
issuer = "https://issuer.example"
audience = "tested"
`;

export const ellipticKeys: Keys = {
  algorithm: "ES256",
  privateKey: elliptic.privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
  issuer: "https://issuer.example",
  audience: "tested",
};

export const ellipticAuth = `
[plugin.auth]
mode = "public_key"
algorithms = ["ES256"]
public_key = """${elliptic.publicKey.export({ type: "spki", format: "pem" }).toString()}"""
issuer = "https://issuer.example"
audience = "tested"
`;

export const secretKeys: Keys = {
  algorithm: "HS256",
  secret,
  issuer: "https://issuer.example",
  audience: "tested",
};

export const secretAuth = `
[plugin.auth]
mode = "secret"
algorithms = ["HS256"]
secret = "${secret}"
issuer = "https://issuer.example"
audience = "tested"
`;
