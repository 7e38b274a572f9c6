import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject, randomUUID } from "node:crypto";
import type { JsonObject } from "./answer.ts";
import { InvalidUse } from "./faults.ts";
import type { Algorithm } from "./option-values.ts";
import type { Resolved } from "./options.ts";
import { fits, signature, type SigningKey } from "./signing.ts";

export type Claims = JsonObject;

/** Differences of a token from the default valid token. */
export interface TokenShape {
  /** Claims to change; `undefined` removes a claim. */
  readonly claims?: Claims | undefined;
  readonly header?: Claims | undefined;
  /** Scopes of the token. Default: none. */
  readonly scopes?: readonly string[] | undefined;
  readonly roles?: readonly string[] | undefined;
  /** Key and algorithm to sign with, instead of those that the header names. */
  readonly signWith?: { readonly algorithm: Algorithm; readonly key: SigningKey } | undefined;
}

export type Minter = ReturnType<typeof createMinter>;

/**
 * Creates a minter of valid and invalid tokens.
 * @param generated the signing key and its id if the kit serves the key set; replaces those in `keys`
 */
export function createMinter(
  keys: Resolved<"keys">,
  generated: { readonly key: KeyObject; readonly kid: string } | undefined,
  tenant: string | undefined,
) {
  const { algorithm } = keys;
  const key = generated?.key ?? signingKey(keys);
  const kid = generated?.kid ?? keys.kid;
  /** The public key; undefined for a shared secret. */
  const publicKey = Buffer.isBuffer(key) ? undefined : createPublicKey(key);
  /** Returns seconds since the Unix epoch. */
  const now = (): number => Math.floor(Date.now() / 1000);

  /** Returns the header and claims that `mint` would sign. */
  function parts({ claims, header, scopes, roles }: TokenShape = {}) {
    const at = now();
    return {
      header: { alg: algorithm, typ: "JWT", kid, ...header },
      claims: {
        sub: keys.subject,
        iss: keys.issuer,
        aud: keys.audience,
        iat: at - 1,
        exp: at + 600,
        jti: randomUUID().replaceAll("-", ""),
        ...(tenant === undefined ? {} : { [keys.tenantClaim]: tenant }),
        ...(scopes === undefined ? {} : { [keys.scopeClaim]: scopes.join(" ") }),
        ...(roles === undefined ? {} : { [keys.rolesClaim]: roles }),
        ...claims,
      },
    };
  }

  function assemble(header: Buffer, payload: Buffer, how: { algorithm: Algorithm; key: SigningKey }): string {
    const input = `${header.toString("base64url")}.${payload.toString("base64url")}`;
    return `${input}.${signature(how.algorithm, how.key, Buffer.from(input)).toString("base64url")}`;
  }

  return {
    keys,
    algorithm,
    leeway: keys.leeway,
    key,
    publicKey,
    now,
    parts,
    mint(shape?: TokenShape): string {
      const { header, claims } = parts(shape);
      return assemble(
        Buffer.from(JSON.stringify(header)),
        Buffer.from(JSON.stringify(claims)),
        shape?.signWith ?? { algorithm, key },
      );
    },
    /** Returns a correctly signed token with the given header and payload bytes. */
    mintBytes: (header: Buffer | string, payload: Buffer | string) =>
      assemble(Buffer.from(header), Buffer.from(payload), { algorithm, key }),
  };
}

function signingKey({ algorithm, secret, privateKey }: Resolved<"keys">): SigningKey {
  if (algorithm.startsWith("HS")) {
    if (secret === undefined) throw new InvalidUse([`keys.secret: is required for ${algorithm}`]);
    return Buffer.from(secret);
  }
  if (privateKey === undefined) throw new InvalidUse([`keys.private_key: is required for ${algorithm}`]);
  let key: KeyObject;
  try {
    key =
      typeof privateKey === "string"
        ? createPrivateKey(privateKey.replaceAll("\\n", "\n"))
        : createPrivateKey({ key: privateKey as JsonWebKey, format: "jwk" });
  } catch {
    // The library's message may quote the key.
    throw new InvalidUse(["keys.private_key: is not a private key, neither as PEM nor as JWK"]);
  }
  if (!fits(algorithm, key)) throw new InvalidUse([`keys.private_key: is not a key for ${algorithm}`]);
  return key;
}

/** Returns a token with one character of its signature changed. */
export function withOtherSignature(token: string): string {
  const middle = Math.floor((token.lastIndexOf(".") + 1 + token.length) / 2);
  return `${token.slice(0, middle)}${token[middle] === "A" ? "B" : "A"}${token.slice(middle + 1)}`;
}
