import type { RfcExample } from "./examples.ts";

/** RFC 7520 sections 4 and 6. */

const payload = [
  "SXTigJlzIGEgZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4gWW91IHN0ZXAgb250byB0aGUgcm9hZCwg",
  "YW5kIGlmIHlvdSBkb24ndCBrZWVwIHlvdXIgZmVldCwgdGhlcmXigJlzIG5vIGtub3dpbmcgd2hlcmUgeW91IG1pZ2h0IGJlIHN3ZXB0IG9m",
  "ZiB0by4",
].join("");

const headers = {
  rs256: "eyJhbGciOiJSUzI1NiIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9",
  ps384: "eyJhbGciOiJQUzM4NCIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9",
  es512: "eyJhbGciOiJFUzUxMiIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9",
  hs256: "eyJhbGciOiJIUzI1NiIsImtpZCI6IjAxOGMwYWU1LTRkOWItNDcxYi1iZmQ2LWVlZjMxNGJjNzAzNyJ9",
};

const signatures = {
  rs256: [
    "MRjdkly7_-oTPTS3AXP41iQIGKa80A0ZmTuV5MEaHoxnW2e5CZ5NlKtainoFmKZopdHM1O2U4mwzJdQx996ivp83xuglII7PNDi84wnB-BDk",
    "oBwA78185hX-Es4JIwmDLJK3lfWRa-XtL0RnltuYv746iYTh_qHRD68BNt1uSNCrUCTJDt5aAE6x8wW1Kt9eRo4QPocSadnHXFxnt8Is9Uzp",
    "ERV0ePPQdLuW3IS_de3xyIrDaLGdjluPxUAhb6L2aXic1U12podGU0KLUQSE_oI-ZnmKJ3F4uOZDnd6QZWJushZ41Axf_fcIe8u9ipH84ogo",
    "ree7vjbU5y18kDquDg",
  ].join(""),
  ps384: [
    "cu22eBqkYDKgIlTpzDXGvaFfz6WGoz7fUDcfT0kkOy42miAh2qyBzk1xEsnk2IpN6-tPid6VrklHkqsGqDqHCdP6O8TTB5dDDItllVo6_1OL",
    "PpcbUrhiUSMxbbXUvdvWXzg-UD8biiReQFlfz28zGWVsdiNAUf8ZnyPEgVFn442ZdNqiVJRmBqrYRXe8P_ijQ7p8Vdz0TTrxUeT3lm8d9shn",
    "r2lfJT8ImUjvAA2Xez2Mlp8cBE5awDzT0qI0n6uiP1aCN_2_jLAeQTlqRHtfa64QQSUmFAAjVKPbByi7xho0uTOcbH510a6GYmJUAfmWjwZ6",
    "oD4ifKo8DYM-X72Eaw",
  ].join(""),
  es512: [
    "AE_R_YZCChjn4791jSQCrdPZCNYqHXCTZH0-JZGYNlaAjP2kqaluUIIUnC9qvbu9Plon7KRTzoNEuT4Va2cmL1eJAQy3mtPBu_u_sDDyYjnA",
    "MDxXPn7XrT0lw-kvAD890jl8e2puQens_IEKBpHABlsbEPX6sFY8OcGDqoRuBomu9xQ2",
  ].join(""),
  hs256: "s0h6KThzkfBBBkLspW1h84VsJZFTsPPqMDA7g1Md7p0",
  hs256WithoutKid: "bWUSVaxorn7bEF1djytBd0kHv70Ly5pvbomzMWSOr20",
  hs256OfPayload: "xuLifqLGiblpv9zBpuZczWhNj1gARaLV3UxvxhJxZuk",
  rs256WithoutKid: [
    "MIsjqtVlOpa71KE-Mss8_Nq2YH4FGhiocsqrgi5NvyG53uoimic1tcMdSg-qptrzZc7CG6Svw2Y13TDIqHzTUrL_lR2ZFcryNFiHkSw129Eg",
    "hGpwkpxaTn_THJTCglNbADko1MZBCdwzJxwqZc-1RlpO2HibUYyXSwO97BSe0_evZKdjvvKSgsIqjytKSeAMbhMBdMma622_BG5t4sdbuCHt",
    "Fjp9iJmkio47AIwqkZV1aIZsv33uPUqBBCXbYoQJwt7mxPftHmNlGoOSMxR_3thmXTCm4US-xiNOyhbm8afKK64jU6_TPtQHiJeQJxz9G3Tx",
    "-083B745_AfYOnlC9w",
  ].join(""),
  es512OfPayload: [
    "ARcVLnaJJaUWG8fG-8t5BREVAuTY8n8YHjwDO1muhcdCoFZFFjfISu0Cdkn9Ybdlmi54ho0x924DUz8sK7ZXkhc7AFM8ObLfTvNCrqcI3Jkl",
    "2U5IX3utNhODH6v7xgy1Qahsn0fyb4zSAkje8bAWz4vIfj5pCMYxxm4fgV3q7ZYhm5eD",
  ].join(""),
  ps256: [
    "dPpMqwRZxFYi1UfcDAaf8M99o7kwUWtiXZ-ByvVuJih4MhJ_aZqciprz0OWaIAkIvn1qskChirjKvY9ESZNUCP4JjvfyPS-nqjJxYoA5ztWO",
    "yFk2cZNIPXjcJXSQwXPO9tEe-v4VSqgD0aKHqPxYog4N6Cz1lKph1U1sYDSI67_bLL7elg_vkjfMp5_W5l5LuUYGMeh6hxQIaIUXf9EwV2Jm",
    "vTMuZ-vBOWy0Sniy1EFo72CRTvmtrIf5AROo5MNliY3KtUxeP-SOmD-LEYwW9SlkohYzMVAZDDOrVbv7KVRHpeYNaK75KEQqdCEEkS_rskZS",
    "-Qtt_nlegTWh1mEYaA",
  ].join(""),
};

const bilbo = "bilbo.baggins@hobbiton.example";
const secretId = "018c0ae5-4d9b-471b-bfd6-eef314bc7037";
const noClaims = {
  refused: "payload",
  rule: "AUTH-9",
  why: "its payload is not a JSON object",
} as const;
const notCompact = {
  refused: "malformed",
  rule: "AUTH-33",
  why: "a bearer token has the compact form",
} as const;
const unprotected = {
  refused: "malformed",
  rule: "AUTH-3",
  why: "its algorithm is not in the signed header",
} as const;

function signedWith(header: string, signature: string): Pick<RfcExample, "token" | "signed"> {
  const text = `${header}.${payload}`;
  return { token: `${text}.${signature}`, signed: { text, signature } };
}

export const cookbook: readonly RfcExample[] = [
  {
    rfc: 7520,
    section: "4.1",
    what: "RS256",
    ...signedWith(headers.rs256, signatures.rs256),
    algorithm: "RS256",
    key: "rsa7520",
    ...noClaims,
  },
  {
    rfc: 7520,
    section: "4.2",
    what: "PS384",
    ...signedWith(headers.ps384, signatures.ps384),
    algorithm: "PS384",
    key: "rsa7520",
    ...noClaims,
  },
  {
    rfc: 7520,
    section: "4.3",
    what: "ES512",
    ...signedWith(headers.es512, signatures.es512),
    algorithm: "ES512",
    key: "p521of7520",
    ...noClaims,
  },
  {
    rfc: 7520,
    section: "4.4",
    what: "HS256",
    ...signedWith(headers.hs256, signatures.hs256),
    algorithm: "HS256",
    key: "hmac7520",
    ...noClaims,
  },
  {
    rfc: 7520,
    section: "4.5",
    what: "a detached payload",
    token: `${headers.hs256}..${signatures.hs256}`,
    signed: { text: `${headers.hs256}.${payload}`, signature: signatures.hs256 },
    algorithm: "HS256",
    key: "hmac7520",
    ...notCompact,
  },
  {
    rfc: 7520,
    section: "4.6",
    what: "an unsigned kid, in the JSON form",
    token: JSON.stringify({
      payload,
      protected: "eyJhbGciOiJIUzI1NiJ9",
      header: { kid: secretId },
      signature: signatures.hs256WithoutKid,
    }),
    signed: { text: `eyJhbGciOiJIUzI1NiJ9.${payload}`, signature: signatures.hs256WithoutKid },
    algorithm: "HS256",
    key: "hmac7520",
    ...notCompact,
  },
  {
    rfc: 7520,
    section: "4.7",
    what: "no signed header",
    token: `.${payload}.${signatures.hs256OfPayload}`,
    signed: { text: `.${payload}`, signature: signatures.hs256OfPayload },
    algorithm: "HS256",
    key: "hmac7520",
    ...unprotected,
  },
  {
    rfc: 7520,
    section: "4.8",
    what: "three signatures, the first one",
    ...signedWith("eyJhbGciOiJSUzI1NiJ9", signatures.rs256WithoutKid),
    algorithm: "RS256",
    key: "rsa7520",
    ...noClaims,
  },
  {
    rfc: 7520,
    section: "4.8",
    what: "three signatures, the second one",
    token: `.${payload}.${signatures.es512OfPayload}`,
    signed: { text: `.${payload}`, signature: signatures.es512OfPayload },
    algorithm: "ES512",
    key: "p521of7520",
    ...unprotected,
  },
  {
    rfc: 7520,
    section: "4.8",
    what: "three signatures, all in the JSON form",
    token: JSON.stringify({
      payload,
      signatures: [
        { protected: "eyJhbGciOiJSUzI1NiJ9", header: { kid: bilbo }, signature: signatures.rs256WithoutKid },
        { header: { alg: "ES512", kid: bilbo }, signature: signatures.es512OfPayload },
        { protected: headers.hs256, signature: signatures.hs256 },
      ],
    }),
    signed: { text: `${headers.hs256}.${payload}`, signature: signatures.hs256 },
    algorithm: "HS256",
    key: "hmac7520",
    ...notCompact,
  },
  {
    rfc: 7520,
    section: "6",
    what: "PS256, the signed token inside the encrypted one",
    ...nested(),
    algorithm: "PS256",
    key: "rsaNested",
    refused: "claim_missing",
    at: "iat",
    rule: "AUTH-9",
    why: "it has no iat",
  },
];

function nested(): Pick<RfcExample, "token" | "signed"> {
  const text =
    "eyJhbGciOiJQUzI1NiIsInR5cCI6IkpXVCJ9.eyJpc3MiOiJob2JiaXRvbi5leGFtcGxlIiwiZXhwIjoxMzAwODE5MzgwLCJodHRwOi8vZX" +
    "hhbXBsZS5jb20vaXNfcm9vdCI6dHJ1ZX0";
  return { token: `${text}.${signatures.ps256}`, signed: { text, signature: signatures.ps256 } };
}
