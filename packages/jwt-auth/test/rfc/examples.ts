import type { Algorithm, RefusalReason } from "@svc/jwt-auth";
import { base64url } from "../support/forge.ts";
import type { rfcKeys } from "./keys.ts";

/** An example from an RFC, with its signature and the expected refusal. */
export interface RfcExample {
  readonly rfc: number;
  readonly section: string;
  readonly what: string;
  /** The token as in an Authorization header. */
  readonly token: string;
  /** The signed text and its signature, if the example contains a signature that can be checked. */
  readonly signed?: { readonly text: string; readonly signature: string } | undefined;
  readonly algorithm: Algorithm;
  readonly key: keyof typeof rfcKeys;
  /** The expected reason: every example is refused, because it lacks `sub`, `exp` or `iat`. */
  readonly refused: RefusalReason;
  readonly at?: string | undefined;
  readonly rule: string;
  readonly why: string;
}

/** `{"iss":"joe",\r\n "exp":1300819380,\r\n "http://example.com/is_root":true}` */
const joe = "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";

const signatures = {
  hs256: "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
  rs256: [
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdb",
    "F9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383",
    "LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWy",
    "wlVmtVrBp0igcN_IoypGlUPQGe77Rw",
  ].join(""),
  es256: "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q",
  es512: [
    "AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgo",
    "XD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn",
  ].join(""),
};

const headers = {
  hs256: "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9",
  rs256: "eyJhbGciOiJSUzI1NiJ9",
  es256: "eyJhbGciOiJFUzI1NiJ9",
  es512: "eyJhbGciOiJFUzUxMiJ9",
};

const noIat = { refused: "claim_missing", at: "iat", rule: "AUTH-9", why: "it has no iat" } as const;
const noClaims = {
  refused: "payload",
  rule: "AUTH-9",
  why: "its payload is not a JSON object",
} as const;
const notCompact = {
  refused: "malformed",
  rule: "AUTH-33",
  why: "only the compact form is accepted",
} as const;
const encrypted = {
  refused: "malformed",
  rule: "AUTH-3",
  why: "it is encrypted, and no allowed algorithm encrypts",
} as const;

/** Returns the token and the signed text of an example in the compact form. */
function compact(header: string, payload: string, signature: string): Pick<RfcExample, "token" | "signed"> {
  const text = `${header}.${payload}`;
  return { token: `${text}.${signature}`, signed: { text, signature } };
}

const rfc7515: readonly RfcExample[] = [
  {
    rfc: 7515,
    section: "A.1",
    what: "HS256",
    ...compact(headers.hs256, joe, signatures.hs256),
    algorithm: "HS256",
    key: "hmac",
    ...noIat,
  },
  {
    rfc: 7515,
    section: "A.2",
    what: "RS256",
    ...compact(headers.rs256, joe, signatures.rs256),
    algorithm: "RS256",
    key: "rsa7515",
    ...noIat,
  },
  {
    rfc: 7515,
    section: "A.3",
    what: "ES256",
    ...compact(headers.es256, joe, signatures.es256),
    algorithm: "ES256",
    key: "p256",
    ...noIat,
  },
  {
    rfc: 7515,
    section: "A.4",
    what: "ES512",
    ...compact(headers.es512, "UGF5bG9hZA", signatures.es512),
    algorithm: "ES512",
    key: "p521",
    ...noClaims,
  },
  {
    rfc: 7515,
    section: "A.5",
    what: "no signature",
    token: `eyJhbGciOiJub25lIn0.${joe}.`,
    algorithm: "HS256",
    key: "hmac",
    refused: "malformed",
    rule: "AUTH-4",
    why: "unsigned tokens are not accepted",
  },
  {
    rfc: 7515,
    section: "A.6",
    what: "the general JSON form, the RS256 signature",
    token: JSON.stringify({
      payload: joe,
      signatures: [
        { protected: headers.rs256, header: { kid: "2010-12-29" }, signature: signatures.rs256 },
        {
          protected: headers.es256,
          header: { kid: "e9bc097a-ce51-4036-9562-d2ade882db0d" },
          signature: signatures.es256,
        },
      ],
    }),
    signed: { text: `${headers.rs256}.${joe}`, signature: signatures.rs256 },
    algorithm: "RS256",
    key: "rsa7515",
    ...notCompact,
  },
  {
    rfc: 7515,
    section: "A.7",
    what: "the flattened JSON form",
    token: JSON.stringify({
      payload: joe,
      protected: headers.es256,
      header: { kid: "e9bc097a-ce51-4036-9562-d2ade882db0d" },
      signature: signatures.es256,
    }),
    signed: { text: `${headers.es256}.${joe}`, signature: signatures.es256 },
    algorithm: "ES256",
    key: "p256",
    ...notCompact,
  },
  {
    rfc: 7515,
    section: "E",
    what: "an unknown extension",
    token: `${base64url('{"alg":"none",\r\n "crit":["http://example.com/UNDEFINED"],\r\n "http://example.com/UNDEFINED":true\r\n}')}.RkFJTA.`,
    algorithm: "HS256",
    key: "hmac",
    refused: "malformed",
    rule: "AUTH-4",
    why: "unsigned tokens are not accepted, nor is crit (AUTH-24)",
  },
];

const rfc7519: readonly RfcExample[] = [
  {
    rfc: 7519,
    section: "3.1",
    what: "HS256",
    ...compact(headers.hs256, joe, signatures.hs256),
    algorithm: "HS256",
    key: "hmac",
    ...noIat,
  },
  {
    rfc: 7519,
    section: "6.1",
    what: "no signature",
    token: `eyJhbGciOiJub25lIn0.${joe}.`,
    algorithm: "HS256",
    key: "hmac",
    refused: "malformed",
    rule: "AUTH-4",
    why: "unsigned tokens are not accepted",
  },
  {
    rfc: 7519,
    section: "A.1",
    what: "an encrypted token",
    token: [
      "eyJhbGciOiJSU0ExXzUiLCJlbmMiOiJBMTI4Q0JDLUhTMjU2In0",
      [
        "QR1Owv2ug2WyPBnbQrRARTeEk9kDO2w8qDcjiHnSJflSdv1iNqhWXaKH4MqAkQtMoNfABIPJaZm0HaA415sv3aeuBWnD8J-Ui7Ah",
        "6cWafs3ZwwFKDFUUsWHSK-IPKxLGTkND09XyjORj_CHAgOPJ-Sd8ONQRnJvWn_hXV1BNMHzUjPyYwEsRhDhzjAD26imasOTsgruo",
        "bpYGoQcXUwFDn7moXPRfDE8-NoQX7N7ZYMmpUDkR-Cx9obNGwJQ3nM52YCitxoQVPzjbl7WBuB7AohdBoZOdZ24WlN1lVIeh8v1K",
        "4krB8xgKvRU8kgFrEn_a1rZgN5TiysnmzTROF869lQ",
      ].join(""),
      "AxY8DCtDaGlsbGljb3RoZQ",
      "MKOle7UQrG6nSxTLX6Mqwt0orbHvAKeWnDYvpIAeZ72deHxz3roJDXQyhxx0wKaMHDjUEOKIwrtkHthpqEanSBNYHZgmNOV7sln1Eu9g3J8",
      "fiK51VwhsxJ-siBMR-YFiA",
    ].join("."),
    algorithm: "RS256",
    key: "rsa7515",
    ...encrypted,
  },
  {
    rfc: 7519,
    section: "A.2",
    what: "the signed token inside the encrypted one",
    ...compact(headers.rs256, joe, signatures.rs256),
    algorithm: "RS256",
    key: "rsa7515",
    ...noIat,
  },
];

/** RFC 7797 section 4: the payload `$.02`, encoded and unencoded. */
const unencoded = "eyJhbGciOiJIUzI1NiIsImI2NCI6ZmFsc2UsImNyaXQiOlsiYjY0Il19";
const unencodedSignature = "A5dxf2s96_n5FLueVuW1Z_vh161FwXZC4YLPff6dmDY";
const unencodedSigned = { text: `${unencoded}.$.02`, signature: unencodedSignature };

const rfc7797: readonly RfcExample[] = [
  {
    rfc: 7797,
    section: "4.1",
    what: "a payload that is encoded",
    ...compact("eyJhbGciOiJIUzI1NiJ9", "JC4wMg", "5mvfOroL-g7HyqJoozehmsaqmvTYGEq5jTI1gVvoEoQ"),
    algorithm: "HS256",
    key: "hmac",
    ...noClaims,
  },
  {
    rfc: 7797,
    section: "4.2",
    what: "an unencoded payload, detached",
    token: `${unencoded}..${unencodedSignature}`,
    signed: unencodedSigned,
    algorithm: "HS256",
    key: "hmac",
    ...notCompact,
  },
  {
    rfc: 7797,
    section: "4.2",
    what: "an unencoded payload in the JSON form",
    token: JSON.stringify({ protected: unencoded, payload: "$.02", signature: unencodedSignature }),
    signed: unencodedSigned,
    algorithm: "HS256",
    key: "hmac",
    ...notCompact,
  },
  {
    rfc: 7797,
    section: "4.2",
    what: "its header over the encoded payload",
    token: `${unencoded}.JC4wMg.${unencodedSignature}`,
    signed: unencodedSigned,
    algorithm: "HS256",
    key: "hmac",
    refused: "critical_header",
    at: "crit",
    rule: "AUTH-24",
    why: "any crit is refused",
  },
];

const rfc8037: readonly RfcExample[] = [
  {
    rfc: 8037,
    section: "A.4, A.5",
    what: "EdDSA",
    ...compact(
      "eyJhbGciOiJFZERTQSJ9",
      "RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc",
      "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
    ),
    algorithm: "EdDSA",
    key: "ed25519",
    ...noClaims,
  },
];

export const examples: readonly RfcExample[] = [...rfc7515, ...rfc7519, ...rfc7797, ...rfc8037];
