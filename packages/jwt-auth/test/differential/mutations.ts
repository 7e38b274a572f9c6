import { createSecretKey } from "node:crypto";
import { type Algorithm, algorithms } from "@svc/jwt-auth";
import { base64url, nonCanonical, nowSeconds } from "../support/forge.ts";
import { keyFixture, type KeyName } from "../support/key-fixtures.ts";
import type { Random } from "../support/random.ts";
import { secretsOfPublicKey } from "../hostile/signature-classes.ts";
import { type Draft, leewaySeconds } from "./draft.ts";

/** A kind of change. True when what comes of it has to be refused, whatever else is done to the draft. */
export type Mutation = (draft: Draft, random: Random) => boolean;

const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const odd = [" ", "\n", "\t", "\r\n", "=", "+", "/", "é", "%20", "\u0000", "Ａ", ".", '"', "\u200b"];
const seconds = (by: number): number => nowSeconds + by;
const dates: readonly unknown[] = [
  ...[-86_400, -31, -30.5, -30, -29.5, -29, -1, 0, 1, 29, 29.5, 30, 30.5, 30.999, 31, 31.5, 86_400].map(
    seconds,
  ),
  0,
  -1,
  -0,
  0.5,
  1e9,
  8.64e12,
  8.64e12 + 1,
  1e15,
  1e300,
  Number.MAX_SAFE_INTEGER,
  "",
  "1800000000",
  "NaN",
  "2027-01-15",
  null,
  true,
  false,
  [],
  [nowSeconds],
  {},
  undefined,
];
const types: readonly unknown[] = [
  7,
  0,
  true,
  false,
  null,
  "",
  [],
  ["a"],
  {},
  { toString: "a" },
  "a",
  undefined,
];

/** Everything that is done to tokens. */
export const mutations: Readonly<Record<string, Mutation>> = {
  none: () => false,

  // The text of the token, after it was signed.
  "another character in the header": (draft, random) => replaceIn(draft, random, 0),
  "another character in the payload": (draft, random) => replaceIn(draft, random, 1),
  "another character in the signature": (draft, random) => replaceIn(draft, random, 2),
  "cut off": (draft, random) => after(draft, (token) => token.slice(0, random.whole(token.length))),
  "cut off at the front": (draft, random) =>
    after(draft, (token) => token.slice(1 + random.whole(token.length - 1))),
  "characters behind it": (draft, random) =>
    after(draft, (token) => token + random.pick(["A", "AAAA", "=", "==", ".", " ", "\n", ";", ","])),
  "an odd character in it": (draft, random) =>
    after(draft, (token) => inserted(token, random.pick(odd), random)),
  "fewer or more parts": (draft, random) => after(draft, (token) => otherParts(token, random)),
  "parts in another order": (draft, random) =>
    after(draft, (token) => {
      const [a, b, c] = token.split(".");
      return random
        .pick([
          [b, a, c],
          [a, c, b],
          [c, b, a],
          [a, a, c],
          [b, b, c],
        ])
        .join(".");
    }),
  "other case": (draft, random) =>
    after(draft, (token) => random.pick([token.toUpperCase(), token.toLowerCase()])),
  "a signature with other bits at its end": (draft) =>
    encoded(draft, "encodedSignature", (part) => (part.length % 4 < 2 ? `${part}=` : nonCanonical(part))),
  "a signature in other bytes": (draft, random) => otherSignature(draft, random),

  // The encoding, signed as it is.
  "an odd character in the signed payload": (draft, random) =>
    encoded(draft, "encodedPayload", (part) => inserted(part, random.pick(odd), random)),
  "an odd character in the signed header": (draft, random) =>
    encoded(draft, "encodedHeader", (part) => inserted(part, random.pick(odd), random)),
  "a signed payload with other bits at its end": (draft) =>
    encoded(draft, "encodedPayload", (part) => (part.length % 4 < 2 ? `${part}=` : nonCanonical(part))),
  "padding that is signed": (draft) =>
    encoded(draft, "encodedPayload", (part) => `${part}${"=".repeat((4 - (part.length % 4)) % 4 || 1)}`),
  "the other alphabet": (draft) => {
    draft.claims["note"] = "~~~???ÿÿÿ>>>";
    return encoded(draft, "encodedPayload", (part) => part.replaceAll("-", "+").replaceAll("_", "/"));
  },

  // The text of header and payload.
  "a byte order mark before the payload": (draft) => payload(draft, `\uFEFF${JSON.stringify(draft.claims)}`),
  "a byte order mark before the header": (draft) => header(draft, (text) => `\uFEFF${text}`),
  "a payload that is no UTF-8": (draft, random) =>
    payload(draft, spliced(JSON.stringify({ note: "", ...draft.claims }), random)),
  "a header that is no UTF-8": (draft, random) => {
    draft.forgery.rawHeader = spliced(
      headerText({ ...draft, header: { note: "", ...draft.header } }),
      random,
    );
    return true;
  },
  "a payload that is no object": (draft, random) =>
    payload(draft, random.pick(["[]", "null", "7", '"a"', "true", "", JSON.stringify([draft.claims])])),
  "a header that is no object": (draft, random) =>
    header(draft, (text) => random.pick(["[]", "null", "7", '"a"', `[${text}]`, ""])),
  "a payload that is broken JSON": (draft, random) =>
    payload(draft, brokenJson(JSON.stringify(draft.claims), random)),
  "a header that is broken JSON": (draft, random) => header(draft, (text) => brokenJson(text, random)),
  "a claim twice": (draft, random) => {
    const name = random.pick(["sub", "exp", "iat", "iss", "aud", "typ"]);
    const first = JSON.stringify(random.pick([...types.slice(0, -1), nowSeconds, "refresh"]));
    draft.forgery.rawPayload = `{"${name}":${first},${JSON.stringify(draft.claims).slice(1)}`;
    return false;
  },
  "claims in __proto__": (draft, random) => {
    const name = random.pick(["sub", "exp", "iat"]);
    const { [name]: value, ...rest } = draft.claims;
    return payload(
      draft,
      `{"__proto__":${JSON.stringify({ [name]: value })},${JSON.stringify(rest).slice(1)}`,
    );
  },
  "much in it": (draft, random) => {
    draft.claims["pad"] = "p".repeat(5000 + random.whole(2000));
    return false;
  },
  "deep lists in it": (draft, random) => {
    const depth = 1 + random.whole(500);
    draft.forgery.rawPayload = `{"deep":${"[".repeat(depth)}${"]".repeat(depth)},${JSON.stringify(draft.claims).slice(1)}`;
    return false;
  },

  // What the header says.
  crit: (draft, random) => {
    draft.header["crit"] = random.pick<unknown>([["exp"], ["b64"], [], "exp", null, ["alg"], ["x"], [1], {}]);
    if (random.chance(0.5)) draft.header["b64"] = random.pick([true, false]);
    if (random.chance(0.5)) draft.header["exp"] = 1;
    return true;
  },
  b64: (draft, random) => {
    const b64 = random.pick<unknown>([true, false, false, "false", 0, null]);
    draft.header["b64"] = b64;
    return b64 === false;
  },
  "another alg": (draft, random) => {
    const alg = random.pick([
      ...algorithms.filter((each) => each !== draft.algorithm),
      "RS1",
      "ES256K",
      "dir",
      "constructor",
    ]);
    draft.header["alg"] = alg;
    return true;
  },
  "no alg": (draft, random) => {
    draft.header["alg"] = random.pick<unknown>([
      "none",
      "None",
      "NONE",
      "",
      undefined,
      null,
      [draft.algorithm],
      7,
      draft.algorithm.toLowerCase() === draft.algorithm ? "x" : draft.algorithm.toLowerCase(),
    ]);
    if (random.chance(0.5)) draft.forgery.encodedSignature = () => "";
    return true;
  },
  "a public key as a secret": (draft, random) => {
    const alg = random.pick(["HS256", "HS384", "HS512"] as const);
    draft.header["alg"] = alg;
    draft.forgery.algorithm = alg;
    draft.forgery.key = createSecretKey(random.pick(publicKeySecrets()));
    return true;
  },
  "the key of somebody else": (draft) => {
    draft.forgery.key = keyFixture(foreign(draft.algorithm)).privateKey;
    return true;
  },
  "a key that comes along": (draft, random) => {
    draft.forgery.key = keyFixture(foreign(draft.algorithm)).privateKey;
    const jwk = draft.algorithm.startsWith("HS")
      ? { kty: "oct", k: "AAAA" }
      : keyFixture(foreign(draft.algorithm)).publicKey.export({ format: "jwk" });
    Object.assign(
      draft.header,
      random.pick([
        { jwk },
        { jku: "http://127.0.0.1:9/" },
        { x5u: "http://127.0.0.1:9/" },
        { x5c: ["AAAA"] },
      ]),
    );
    return true;
  },
  "a header that names keys, signed well": (draft, random) => {
    Object.assign(
      draft.header,
      random.pick<object>([
        { jwk: { kty: "oct", k: "AAAA" } },
        { jku: "http://127.0.0.1:9/" },
        { x5u: "x" },
        { zip: "DEF" },
        { enc: "A128GCM" },
      ]),
    );
    return false;
  },
  kid: (draft, random) => {
    const kid = random.pick<unknown>([
      "other",
      "__proto__",
      "../../dev/null",
      "",
      "k".repeat(256),
      "k".repeat(257),
      7,
      null,
      ["main"],
      {},
      "main\u0000",
    ]);
    draft.header["kid"] = kid;
    // Half of the verifiers do not look for a kid.
    return typeof kid !== "string" || kid.length > 256;
  },
  "typ of the header": (draft, random) => {
    draft.header["typ"] = random.pick(types);
    return false;
  },

  // What the claims say.
  exp: (draft, random) => claim(draft, "exp", random.pick(dates)),
  iat: (draft, random) => claim(draft, "iat", random.pick(dates)),
  nbf: (draft, random) => claim(draft, "nbf", random.pick(dates)),
  "dates beyond numbers": (draft, random) => {
    const name = random.pick(["exp", "iat", "nbf"]);
    const rest = Object.fromEntries(Object.entries(draft.claims).filter(([each]) => each !== name));
    return payload(
      draft,
      `{"${name}":${random.pick(["1e400", "-1e400", "1e309"])},${JSON.stringify(rest).slice(1)}`,
    );
  },
  "fractions of a second": (draft, random) => {
    const name = random.pick(["exp", "iat", "nbf"]);
    const edge = name === "exp" ? -leewaySeconds : leewaySeconds;
    return claim(
      draft,
      name,
      seconds(edge + random.pick([-1, 0, 1]) + random.pick([0.001, 0.25, 0.5, 0.999])),
    );
  },
  "a claim missing": (draft, random) => {
    draft.claims[random.pick(["exp", "iat", "sub"])] = undefined;
    return true;
  },
  sub: (draft, random) => {
    const sub = random.pick(types);
    claim(draft, "sub", sub);
    return typeof sub !== "string" || sub === "";
  },
  "jti or fam": (draft, random) => {
    const value = random.pick(types);
    claim(draft, random.pick(["jti", "fam"]), value);
    return value !== undefined && typeof value !== "string";
  },
  iss: (draft, random) =>
    claim(
      draft,
      "iss",
      random.pick([...types, "https://issuer.example/", "https://evil.example", "HTTPS://ISSUER.EXAMPLE"]),
    ),
  aud: (draft, random) =>
    claim(
      draft,
      "aud",
      random.pick<unknown>([
        ...types,
        "billing",
        ["billing"],
        [["expenses"]],
        ["expenses", 7],
        "expenses billing",
        { 0: "expenses" },
      ]),
    ),
  "a refresh token": (draft) => {
    draft.claims["typ"] = "refresh";
    return true;
  },
  "a name that looks alike": (draft, random) => {
    const [name, like] = random.pick([
      ["sub", "ѕub"],
      ["exp", "exp "],
      ["iat", "ıat"],
      ["exp", "Exp"],
      ["sub", "sub\u200b"],
    ] as const);
    draft.claims[like] = draft.claims[name];
    draft.claims[name] = undefined;
    return true;
  },
};

export const kinds: readonly string[] = Object.keys(mutations);

/** Those that change what is signed, and that another one of them may follow. */
export const combinable: readonly string[] = [
  "crit",
  "b64",
  "kid",
  "typ of the header",
  "exp",
  "iat",
  "nbf",
  "fractions of a second",
  "a claim missing",
  "sub",
  "jti or fam",
  "iss",
  "aud",
  "a refresh token",
  "much in it",
  "a name that looks alike",
];

function claim(draft: Draft, name: string, value: unknown): boolean {
  draft.claims[name] = value;
  return false;
}

function payload(draft: Draft, text: string | Uint8Array): boolean {
  draft.forgery.rawPayload = text;
  return true;
}

function header(draft: Draft, change: (text: string) => string): boolean {
  draft.forgery.rawHeader = change(headerText(draft));
  return true;
}

function headerText(draft: Draft): string {
  return JSON.stringify({ alg: draft.algorithm, ...draft.header });
}

function after(draft: Draft, change: (token: string) => string): boolean {
  let isSame = false;
  draft.after.push((token) => {
    const changed = change(token);
    isSame = changed === token;
    // Never the token itself: it would not have to be refused.
    return isSame ? `${token}.` : changed;
  });
  return true;
}

function encoded(
  draft: Draft,
  part: "encodedHeader" | "encodedPayload" | "encodedSignature",
  change: (part: string) => string,
): boolean {
  draft.forgery[part] = change;
  return true;
}

function replaceIn(draft: Draft, random: Random, index: number): boolean {
  return after(draft, (token) => {
    const parts = token.split(".");
    const part = parts[index] ?? "";
    const at = random.whole(part.length);
    const others = alphabet.replace(part.charAt(at), "");
    parts[index] = part.slice(0, at) + others.charAt(random.whole(others.length)) + part.slice(at + 1);
    return parts.join(".");
  });
}

function inserted(text: string, what: string, random: Random): string {
  const at = random.whole(text.length + 1);
  return text.slice(0, at) + what + text.slice(at);
}

function otherParts(token: string, random: Random): string {
  const parts = token.split(".");
  const index = random.whole(3);
  return random.pick([
    () => parts.filter((_, each) => each !== index).join("."),
    () => parts.with(index, "").join("."),
    () => parts.toSpliced(index, 0, parts[index] ?? "").join("."),
    () => [...parts, "", ""].join("."),
    () => parts.join(""),
    () => `${token}.${token}`,
    () => JSON.stringify({ protected: parts[0], payload: parts[1], signature: parts[2] }),
    () => `Bearer ${token}`,
  ])();
}

function otherSignature(draft: Draft, random: Random): boolean {
  draft.forgery.signature = random.pick<(bytes: Buffer) => Uint8Array>([
    (bytes) => Buffer.alloc(bytes.length),
    (bytes) => bytes.subarray(1),
    (bytes) => bytes.subarray(0, -1),
    (bytes) => Buffer.concat([bytes, Buffer.alloc(1)]),
    (bytes) => Buffer.concat([Buffer.alloc(1), bytes]),
    (bytes) => Buffer.from(bytes).reverse(),
    (bytes) => Buffer.concat([bytes.subarray(bytes.length / 2), bytes.subarray(0, bytes.length / 2)]),
    (bytes) => Buffer.from(base64url(bytes)),
    (bytes) => bytes.map((byte) => byte ^ 0xff),
  ]);
  return true;
}

/** The text with bytes in a string that no UTF-8 has. */
function spliced(text: string, random: Random): Uint8Array {
  const bad = random.pick([
    [0xff],
    [0xc1, 0x81],
    [0xe2, 0x82],
    [0xed, 0xa0, 0x80],
    [0xf4, 0x90, 0x80, 0x80],
    [0x80],
  ]);
  const at = text.indexOf('"note":"') + '"note":"'.length;
  return Buffer.concat([Buffer.from(text.slice(0, at)), Buffer.from(bad), Buffer.from(text.slice(at))]);
}

function brokenJson(text: string, random: Random): string {
  return random.pick([
    () => text.slice(0, -1),
    () => text.slice(1),
    () => `${text}{}`,
    () => `${text}\u0000`,
    () => text.replaceAll('"', "'"),
    () => text.replace(/\}$/, ",}"),
    () => `${text}//`,
    () => text.replace(/\}$/, ',"n":NaN}'),
    () => text.replace("{", "{,"),
    () => text.replaceAll(":", "="),
  ])();
}

function foreign(algorithm: Algorithm): KeyName {
  if (algorithm.startsWith("HS")) return "otherSecret";
  if (algorithm === "EdDSA") return "otherEd25519";
  if (algorithm.startsWith("ES")) return "otherP256";
  return "otherRsa2048";
}

let known: readonly Buffer[] | undefined;

function publicKeySecrets(): readonly Buffer[] {
  known ??= Object.values(secretsOfPublicKey());
  return known;
}
