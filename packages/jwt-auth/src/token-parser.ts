import type { Algorithm } from "./algorithms.ts";
import { refuse } from "./refuse.ts";
import type { Refused } from "./verification.ts";

/** The longest token that is looked at, in characters (AUTH-20). */
export const MAX_TOKEN_LENGTH = 8192;

/** The longest kid (AUTH-22). */
export const MAX_KID_LENGTH = 256;

/** What a header says that matters. */
export interface TokenHeader {
  readonly algorithm: Algorithm;
  readonly kid: string | undefined;
}

/** A header that has been read before: tokens of one issuer and key have the same. */
export interface KnownHeader {
  /** Its text with the dot behind it. */
  readonly prefix: string;
  readonly header: TokenHeader;
}

/** A token of the right shape; nothing is proven yet. */
export interface ParsedToken {
  readonly header: TokenHeader;
  readonly claims: Record<string, unknown>;
  /** What was signed: header and payload as they came. */
  readonly signed: string;
  readonly signature: Buffer;
  readonly reason?: undefined;
}

const shape = /^[\w-]+\.[\w-]+\.[\w-]+$/;
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

// The last character of a part carries 4 or 2 bits that no byte takes; canonical base64url has zeros there.
const endsOfOneByte = "AQgw";
const endsOfTwoBytes = "AEIMQUYcgkosw048";

/**
 * Takes a token apart without any cryptography: size (AUTH-20), three parts in canonical base64url of valid UTF-8
 * without byte order mark (AUTH-21), header and payload JSON objects, `alg` one of the allowed (AUTH-3, AUTH-4),
 * `kid` (AUTH-22), no `crit` (AUTH-24) and no unencoded payload. Of members that are there twice the last one counts.
 */
export function parseToken(
  token: string,
  allowed: ReadonlySet<string>,
  known?: KnownHeader,
): ParsedToken | Refused {
  if (typeof token !== "string") return refuse("malformed");
  if (token.length > MAX_TOKEN_LENGTH) return refuse("too_large");
  if (!shape.test(token)) return refuse(hasThreeParts(token) ? "encoding" : "malformed");
  const first = token.indexOf(".");
  const last = token.lastIndexOf(".");
  const headerPart = token.slice(0, first);
  const payloadPart = token.slice(first + 1, last);
  const signaturePart = token.slice(last + 1);
  if (!isCanonical(headerPart) || !isCanonical(payloadPart) || !isCanonical(signaturePart)) {
    return refuse("encoding");
  }
  const header =
    known !== undefined && token.startsWith(known.prefix) ? known.header : parseHeader(headerPart, allowed);
  if (isRefused(header)) return header;
  const payload = textOf(payloadPart);
  if (payload === undefined) return refuse("encoding", "payload");
  const claims = objectOf(payload);
  if (claims === undefined) return refuse("payload");
  return { header, claims, signed: token.slice(0, last), signature: Buffer.from(signaturePart, "base64url") };
}

function parseHeader(part: string, allowed: ReadonlySet<string>): TokenHeader | Refused {
  const text = textOf(part);
  if (text === undefined) return refuse("encoding", "header");
  const header = objectOf(text);
  if (header === undefined) return refuse("header");
  if (Object.hasOwn(header, "crit")) return refuse("critical_header", "crit");
  const algorithm = own(header, "alg");
  if (typeof algorithm !== "string") return refuse("header", "alg");
  if (!isAllowed(algorithm, allowed)) return refuse("algorithm_not_allowed", "alg");
  if (own(header, "b64") === false) return refuse("critical_header", "b64");
  const kid = own(header, "kid");
  if (kid !== undefined && (typeof kid !== "string" || kid.length > MAX_KID_LENGTH))
    return refuse("kid", "kid");
  return { algorithm, kid };
}

function isRefused(header: TokenHeader | Refused): header is Refused {
  return "reason" in header;
}

/** The header of a token that held, for the next one; a copy, so that it does not keep the token in memory. */
export function knownHeader({ header, signed }: ParsedToken): KnownHeader {
  const prefix = Buffer.from(signed.slice(0, signed.indexOf(".") + 1), "latin1").toString("latin1");
  return { prefix, header };
}

function isAllowed(algorithm: string, allowed: ReadonlySet<string>): algorithm is Algorithm {
  return allowed.has(algorithm);
}

function hasThreeParts(token: string): boolean {
  const first = token.indexOf(".");
  const second = token.indexOf(".", first + 1);
  return first > 0 && second > first + 1 && second < token.length - 1 && !token.includes(".", second + 1);
}

function isCanonical(part: string): boolean {
  const over = part.length % 4;
  if (over === 0) return true;
  if (over === 1) return false;
  return (over === 2 ? endsOfOneByte : endsOfTwoBytes).includes(part.charAt(part.length - 1));
}

function textOf(part: string): string | undefined {
  try {
    return utf8.decode(Buffer.from(part, "base64url"));
  } catch {
    return undefined;
  }
}

function objectOf(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A member that the object itself has: a prototype that somebody polluted has no say. */
export function own(object: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
