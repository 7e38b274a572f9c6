import { createHash } from "node:crypto";
import type { RefusalReason } from "@svc/jwt-auth";
import { base64url, forge, goodClaims, nonCanonical, paddedClaims, partsOf } from "../support/forge.ts";
import { hostile, type HostileClass, type HostileToken, sharedSecret } from "./hostile-token.ts";

const good = forge();
const [goodHeader, goodPayload, goodSignature] = partsOf(good);
/** A header whose encoding has unused bits. */
const looseHeader = '{"alg":"RS256" }';

const base64: HostileClass = {
  name: "base64url",
  tokens: [
    payloadPart("padding on the payload", (part) => `${part}==`, 1),
    payloadPart("one = on the payload", (part) => `${part}=`, 2),
    payloadPart("unused bits set in a payload that ends with a group of one byte", nonCanonical, 1),
    payloadPart("unused bits set in a payload that ends with a group of two bytes", nonCanonical, 2),
    payloadPart("a space in the payload", (part) => `${part.slice(0, 8)} ${part.slice(8)}`),
    payloadPart("a space after the payload", (part) => `${part} `),
    payloadPart("a line end in the payload", (part) => `${part.slice(0, 8)}\n${part.slice(8)}`),
    payloadPart("a tab in the payload", (part) => `${part.slice(0, 8)}\t${part.slice(8)}`),
    payloadPart("a NUL in the payload", (part) => `${part.slice(0, 8)}\u0000${part.slice(8)}`),
    payloadPart("a lone character at the end", (part) => `${part}A`, 0),
    payloadPart("a percent escape", (part) => `${part.slice(0, 8)}%20${part.slice(8)}`),
    payloadPart("a letter outside ASCII", (part) => `${part.slice(0, 8)}é${part.slice(8)}`),
    payloadPart("a full-width letter", (part) => `${part.slice(0, 8)}Ａ${part.slice(8)}`),
    {
      ...hostile("AUTH-21", "+ and / for - and _", ["encoding"], {
        claims: { note: "~~~???ÿÿÿ>>>" },
        encodedPayload: (part) => part.replaceAll("-", "+").replaceAll("_", "/"),
      }),
      repaired: forge({ claims: { note: "~~~???ÿÿÿ>>>" } }),
    },
    hostile(
      "AUTH-21",
      "padding on the header",
      ["encoding"],
      { rawHeader: looseHeader, encodedHeader: (part) => `${part}==` },
      { rawHeader: looseHeader },
    ),
    hostile(
      "AUTH-21",
      "unused bits set in the header",
      ["encoding"],
      { rawHeader: looseHeader, encodedHeader: nonCanonical },
      { rawHeader: looseHeader },
    ),
    hostile("AUTH-21", "a space before the header", ["encoding"], { encodedHeader: (part) => ` ${part}` }),
    hostile("AUTH-21", "a line end before the header", ["encoding"], {
      encodedHeader: (part) => `\r\n${part}`,
    }),
    signaturePart("padding on the signature", (part) => `${part}==`),
    signaturePart("unused bits set in the signature", nonCanonical),
    signaturePart("a line end after the signature", (part) => `${part}\n`),
    signaturePart("a space in the signature", (part) => `${part.slice(0, 8)} ${part.slice(8)}`),
    signaturePart("a quote after the signature", (part) => `${part}"`),
    hostile(
      "AUTH-21",
      "unused bits set in an HMAC",
      ["encoding"],
      { algorithm: "HS256", encodedSignature: nonCanonical },
      { algorithm: "HS256" },
      sharedSecret,
    ),
    hostile(
      "AUTH-21",
      "unused bits set in an ES256 signature",
      ["encoding"],
      { algorithm: "ES256", encodedSignature: nonCanonical },
      { algorithm: "ES256" },
    ),
  ],
};

function payloadPart(
  defect: string,
  encodedPayload: (part: string) => string,
  over: 0 | 1 | 2 = 0,
): HostileToken {
  const rawPayload = over === 0 ? `${paddedClaims(1)}  ` : paddedClaims(over);
  return hostile("AUTH-21", defect, ["encoding"], { rawPayload, encodedPayload }, { rawPayload });
}

function signaturePart(defect: string, encodedSignature: (part: string) => string): HostileToken {
  return hostile("AUTH-21", defect, ["encoding"], { encodedSignature });
}

const shapes: HostileClass = {
  name: "shape and size",
  tokens: [
    shape("an empty string", "malformed", ""),
    shape("two dots", "malformed", ".."),
    shape("a token without its dots", "malformed", good.replaceAll(".", "")),
    shape("two parts", "malformed", `${goodHeader}.${goodPayload}`),
    shape("four parts", "malformed", `${good}.`),
    shape("a token without a header", "malformed", `.${goodPayload}.${goodSignature}`),
    shape("a token without a payload", "malformed", `${goodHeader}..${goodSignature}`),
    shape("a token with the scheme before it", "encoding", `Bearer ${good}`),
    shape("two tokens", "malformed", `${good},${good}`),
    shape("a token without its last six characters", "signature", good.slice(0, -6)),
    shape(
      "a signature of one character",
      "encoding",
      `${goodHeader}.${goodPayload}.${goodSignature.slice(0, 1)}`,
    ),
    shape(
      "the payload of another token",
      "signature",
      `${goodHeader}.${partsOf(forge({ claims: { sub: "eve" } }))[1]}.${goodSignature}`,
    ),
    shape(
      "the signature of another token",
      "signature",
      `${goodHeader}.${goodPayload}.${partsOf(forge({ claims: { sub: "eve" } }))[2]}`,
    ),
    shape(
      "a hash in place of the signature",
      "signature",
      `${goodHeader}.${goodPayload}.${base64url(createHash("sha256").update(good).digest())}`,
    ),
    size("one character more than 8 KiB", 8193),
    size("a token of 200 KB", 200_000),
    size("a token of 5 MB", 5_000_000),
    {
      ...shape("8,193 characters that are not a token", "too_large", "x".repeat(8193)),
      rule: "AUTH-20",
    },
    hostile(
      "AUTH-21",
      "a thousand nested lists that are not closed",
      ["payload"],
      { rawPayload: deep(1000, false) },
      { rawPayload: deep(1000, true) },
    ),
  ],
};

function shape(defect: string, reason: RefusalReason, token: string): HostileToken {
  return { rule: "AUTH-21", defect, reason, token, repaired: good };
}

/** Makes a test case with a token that is too long; the corrected token has exactly 8,192 characters. */
function size(defect: string, length: number): HostileToken {
  return { rule: "AUTH-20", defect, reason: "too_large", token: sized(length), repaired: sized(8192) };
}

/** Makes a valid token of this length. Pads payload and header, because the payload alone cannot reach every length. */
function sized(length: number): string {
  for (let more = 0; more < 4; more++) {
    const header = { x: "x".repeat(more) };
    const left = length - forge({ header, claims: { pad: "" } }).length;
    for (let fill = Math.max(0, Math.floor(left * 0.75) - 4); fill < left; fill++) {
      const token = forge({ header, claims: { pad: "p".repeat(fill) } });
      if (token.length === length) return token;
      if (token.length > length) break;
    }
  }
  throw new Error(`no token of ${length} characters`);
}

function deep(depth: number, closed: boolean): string {
  const lists = "[".repeat(depth) + (closed ? "]".repeat(depth) : "");
  return `{"deep":${lists},${JSON.stringify(goodClaims).slice(1)}`;
}

export const encodingClasses: readonly HostileClass[] = [base64, shapes];
