import { createPublicKey, createSecretKey } from "node:crypto";
import { base64url, forge, partsOf } from "../support/forge.ts";
import { keyFixture, pemOf } from "../support/key-fixtures.ts";
import {
  hostile,
  type HostileClass,
  type HostileToken,
  type Settings,
  sharedSecret,
  withParts,
} from "./hostile-token.ts";

/** Returns encodings of a public RSA key that vulnerable verifiers have accepted as an HMAC secret. */
export function secretsOfPublicKey(): Readonly<Record<string, Buffer>> {
  const key = createPublicKey(keyFixture("rsa2048").privateKey);
  const spki = pemOf("rsa2048");
  const pkcs1 = pemOf("rsa2048", "pkcs1");
  const jwk = key.export({ format: "jwk" });
  const der = key.export({ type: "spki", format: "der" });
  return {
    "its PEM": Buffer.from(spki),
    "its PEM without the final line end": Buffer.from(spki.trimEnd()),
    "its PEM after a space": Buffer.from(` ${spki}`),
    "its PEM with CRLF": Buffer.from(spki.replaceAll("\n", "\r\n")),
    "its PKCS#1 PEM": Buffer.from(pkcs1),
    "its DER": der,
    "its PKCS#1 DER": key.export({ type: "pkcs1", format: "der" }),
    "the base64 of its DER": Buffer.from(der.toString("base64")),
    "its JWK": Buffer.from(JSON.stringify(jwk)),
    "its modulus": Buffer.from(String(jwk.n), "base64url"),
  };
}

const rs256 = { algorithms: ["RS256"] } as const satisfies Partial<Settings>;
const good = forge();
const [goodHeader, goodPayload] = partsOf(good);

const algorithmConfusion: HostileClass = {
  name: "algorithm confusion",
  tokens: [
    ...Object.entries(secretsOfPublicKey()).map(([how, secret]) =>
      hostile(
        "AUTH-3",
        `HS256 with a public key as the secret (${how})`,
        ["algorithm_not_allowed", "alg"],
        { algorithm: "HS256", key: createSecretKey(secret) },
        {},
        rs256,
      ),
    ),
    hostile(
      "AUTH-3",
      "RS384 when only RS256 is configured",
      ["algorithm_not_allowed", "alg"],
      { algorithm: "RS384" },
      {},
      rs256,
    ),
    hostile(
      "AUTH-3",
      "PS256 when only RS256 is configured",
      ["algorithm_not_allowed", "alg"],
      { algorithm: "PS256" },
      {},
      rs256,
    ),
    hostile("AUTH-3", "alg in lower case", ["algorithm_not_allowed", "alg"], { header: { alg: "rs256" } }),
    hostile("AUTH-3", "alg with a trailing space", ["algorithm_not_allowed", "alg"], {
      header: { alg: "RS256 " },
    }),
    hostile("AUTH-3", "an unknown alg", ["algorithm_not_allowed", "alg"], {
      header: { alg: "RS1" },
    }),
    hostile("AUTH-3", "ES256K", ["algorithm_not_allowed", "alg"], { header: { alg: "ES256K" } }),
    hostile("AUTH-3", "an alg that is a member of Object.prototype", ["algorithm_not_allowed", "alg"], {
      header: { alg: "constructor" },
    }),
    hostile("AUTH-3", "alg RS512 with an RS256 signature", ["signature"], { header: { alg: "RS512" } }),
    hostile("AUTH-3", "alg PS256 with an RS256 signature", ["signature"], { header: { alg: "PS256" } }),
    hostile(
      "AUTH-3",
      "alg HS512 with an HS256 signature",
      ["signature"],
      { algorithm: "HS256", header: { alg: "HS512" } },
      { algorithm: "HS256" },
      sharedSecret,
    ),
  ],
};

const noSignature: HostileClass = {
  name: "missing signatures and weak keys",
  tokens: [
    // The shape is checked before the algorithm, so an empty signature is refused as malformed.
    {
      rule: "AUTH-4",
      defect: "alg none and no signature",
      reason: "malformed",
      token: withParts(good, { header: { alg: "none", typ: "JWT" }, signature: "" }),
      repaired: good,
    },
    ...["none", "None", "nOnE", "NONE"].map((alg) =>
      hostile("AUTH-4", `alg ${alg} and a correct signature`, ["algorithm_not_allowed", "alg"], {
        header: { alg },
      }),
    ),
    hostile("AUTH-4", "alg none and a signature of three bytes", ["algorithm_not_allowed", "alg"], {
      header: { alg: "none" },
      encodedSignature: () => "AAAA",
    }),
    hostile("AUTH-4", "an empty alg", ["algorithm_not_allowed", "alg"], { header: { alg: "" } }),
    hostile("AUTH-4", "a header without alg", ["header", "alg"], { header: { alg: undefined } }),
    hostile("AUTH-4", "alg null", ["header", "alg"], { header: { alg: null } }),
    hostile("AUTH-4", "alg as a list", ["header", "alg"], { header: { alg: ["RS256"] } }),
    {
      rule: "AUTH-3",
      defect: "an empty signature",
      reason: "malformed",
      token: `${goodHeader}.${goodPayload}.`,
      repaired: good,
    },
    hostile(
      "AUTH-31",
      "HMAC with an empty key",
      ["signature"],
      { algorithm: "HS256", key: createSecretKey(Buffer.alloc(0)) },
      { algorithm: "HS256" },
      sharedSecret,
    ),
    hostile(
      "AUTH-31",
      "HMAC with a word as the key",
      ["signature"],
      { algorithm: "HS256", key: createSecretKey(Buffer.from("secret")) },
      { algorithm: "HS256" },
      sharedSecret,
    ),
    hostile(
      "AUTH-31",
      "HMAC with the word undefined as the key",
      ["signature"],
      { algorithm: "HS256", key: createSecretKey(Buffer.from("undefined")) },
      { algorithm: "HS256" },
      sharedSecret,
    ),
  ],
};

/**
 * The URL of the keys in hostile tokens. No server listens on this port, because test servers get higher ports, and
 * `fetch` does not block this port.
 */
export const attackersUrl = "http://127.0.0.1:19009/keys.json";

const ownKeys: HostileClass = {
  name: "keys in the token's header",
  tokens: broughtAlong().map(([defect, header]) =>
    hostile(
      "AUTH-2",
      defect,
      ["signature"],
      { key: keyFixture("otherRsa2048").privateKey, header },
      { header },
    ),
  ),
};

function broughtAlong(): readonly (readonly [string, Readonly<Record<string, unknown>>])[] {
  const jwk = createPublicKey(keyFixture("otherRsa2048").privateKey).export({ format: "jwk" });
  const certificate = base64url(keyFixture("otherRsa2048").publicKey.export({ type: "spki", format: "der" }));
  return [
    ["a key in jwk", { jwk }],
    [
      "a key in jwk, with its algorithm and a kid",
      { jwk: { ...jwk, alg: "RS256", kid: "mine", use: "sig" } },
    ],
    ["the URL of a key set in jku", { jku: attackersUrl }],
    ["a file URL in jku", { jku: "file:///etc/hostname" }],
    ["the URL of a certificate in x5u", { x5u: attackersUrl }],
    ["a certificate in x5c", { x5c: [certificate] }],
    ["the thumbprint of an unknown certificate in x5t", { x5t: "AAAAAAAAAAAAAAAAAAAAAAAAAAA" }],
    ["a key set in keys", { keys: [jwk] }],
  ];
}

const order = Buffer.from("ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551", "hex");

const ecdsa: HostileClass = {
  name: "ECDSA and EdDSA signatures",
  tokens: [
    es256("in DER", (bytes) => derOf(bytes)),
    es256("with r = s = 0", () => Buffer.alloc(64)),
    es256("of 63 bytes", (bytes) => bytes.subarray(0, 63)),
    es256("of 65 bytes", (bytes) => Buffer.concat([bytes, Buffer.alloc(1)])),
    es256("with a leading zero", (bytes) => Buffer.concat([Buffer.alloc(1), bytes])),
    es256("with r = 0", (bytes) => Buffer.concat([Buffer.alloc(32), bytes.subarray(32)])),
    es256("with s = 0", (bytes) => Buffer.concat([bytes.subarray(0, 32), Buffer.alloc(32)])),
    es256("with r and s swapped", (bytes) => Buffer.concat([bytes.subarray(32), bytes.subarray(0, 32)])),
    es256("with r = s = the order of the curve", () => Buffer.concat([order, order])),
    es256("of r only", (bytes) => bytes.subarray(0, 32)),
    hostile(
      "AUTH-3",
      "an Ed25519 signature of 63 bytes",
      ["signature"],
      { algorithm: "EdDSA", signature: (bytes) => bytes.subarray(0, 63) },
      { algorithm: "EdDSA" },
    ),
    hostile(
      "AUTH-3",
      "an Ed25519 signature of zeros",
      ["signature"],
      { algorithm: "EdDSA", signature: () => Buffer.alloc(64) },
      { algorithm: "EdDSA" },
    ),
    hostile(
      "AUTH-3",
      "an Ed25519 signature with s above the order",
      ["signature"],
      { algorithm: "EdDSA", signature: pastTheOrder },
      { algorithm: "EdDSA" },
    ),
    hostile("AUTH-3", "an RSA signature of 255 bytes", ["signature"], {
      signature: (bytes) => bytes.subarray(1),
    }),
    hostile("AUTH-3", "an RSA signature of 257 bytes", ["signature"], {
      signature: (bytes) => Buffer.concat([Buffer.alloc(1), bytes]),
    }),
    hostile("AUTH-3", "an RSA signature of zeros", ["signature"], { signature: () => Buffer.alloc(256) }),
    hostile(
      "AUTH-3",
      "half of an HMAC",
      ["signature"],
      { algorithm: "HS256", signature: (bytes) => bytes.subarray(0, 16) },
      { algorithm: "HS256" },
      sharedSecret,
    ),
    hostile(
      "AUTH-3",
      "an HMAC of one byte",
      ["signature"],
      { algorithm: "HS256", signature: (bytes) => bytes.subarray(0, 1) },
      { algorithm: "HS256" },
      sharedSecret,
    ),
  ],
};

function es256(defect: string, signature: (bytes: Buffer) => Uint8Array): HostileToken {
  return hostile(
    "AUTH-3",
    `an ES256 signature ${defect}`,
    ["signature"],
    { algorithm: "ES256", signature },
    { algorithm: "ES256" },
  );
}

/** Encodes the two numbers of an ECDSA signature as DER. */
function derOf(bytes: Buffer): Buffer {
  const numbers = [bytes.subarray(0, 32), bytes.subarray(32)].map((each) => {
    const body = (each[0] ?? 0) >= 0x80 ? Buffer.concat([Buffer.alloc(1), each]) : each;
    return Buffer.concat([Buffer.from([2, body.length]), body]);
  });
  const both = Buffer.concat(numbers);
  return Buffer.concat([Buffer.from([0x30, both.length]), both]);
}

/** Adds the order of Ed25519 to s, which a verifier without a range check accepts. */
function pastTheOrder(bytes: Buffer): Buffer {
  const l = 2n ** 252n + 27_742_317_777_372_353_535_851_937_790_883_648_493n;
  const s = BigInt(`0x${Buffer.from(bytes.subarray(32)).reverse().toString("hex")}`) + l;
  const text = s.toString(16).padStart(64, "0");
  return Buffer.concat([bytes.subarray(0, 32), Buffer.from(text, "hex").reverse()]);
}

export const signatureClasses: readonly HostileClass[] = [algorithmConfusion, noSignature, ownKeys, ecdsa];
