import { createSecretKey } from "node:crypto";
import { type Algorithm, algorithms } from "@svc/jwt-auth";
import { secretsOfPublicKey } from "../hostile/signature-classes.ts";
import { nowSeconds } from "../support/forge.ts";
import { keyFixture, type KeyName } from "../support/key-fixtures.ts";
import { type Draft, leewaySeconds } from "./draft.ts";
import { type Mutations, withPayload } from "./mutation.ts";

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

/** Mutations of the content of header and claims. */
export const contentMutations: Mutations = {
  // Mutations of the header.
  crit: (draft, random) => {
    draft.header["crit"] = random.pick<unknown>([
      ["b64"],
      ["b64"],
      ["b64"],
      ["exp"],
      [],
      "exp",
      null,
      ["alg"],
      [1],
      {},
    ]);
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
  "a foreign key": (draft) => {
    draft.forgery.key = keyFixture(foreign(draft.algorithm)).privateKey;
    return true;
  },
  "a key in the header, which signed the token": (draft, random) => {
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
  "a header with keys, correctly signed": (draft, random) => {
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
    // An unknown kid need not be refused, because half of the verifiers accept any kid.
    return typeof kid !== "string" || kid.length > 256;
  },
  "typ of the header": (draft, random) => {
    draft.header["typ"] = random.pick(types);
    return false;
  },

  // Mutations of the claims.
  exp: (draft, random) => claim(draft, "exp", random.pick(dates)),
  iat: (draft, random) => claim(draft, "iat", random.pick(dates)),
  nbf: (draft, random) => claim(draft, "nbf", random.pick(dates)),
  "infinite dates": (draft, random) => {
    const name = random.pick(["exp", "iat", "nbf"]);
    const rest = Object.fromEntries(Object.entries(draft.claims).filter(([each]) => each !== name));
    return withPayload(
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
  "a claim name that looks alike": (draft, random) => {
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

function claim(draft: Draft, name: string, value: unknown): boolean {
  draft.claims[name] = value;
  return false;
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
