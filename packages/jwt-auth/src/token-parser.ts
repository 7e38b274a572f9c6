import type { Algorithm } from "./algorithms.ts";
import { refuse, type Refused } from "./verification.ts";

/** Longest accepted token, in characters (AUTH-20). */
export const MAX_TOKEN_LENGTH = 8192;

/** Longest accepted kid, in characters (AUTH-22). */
export const MAX_KID_LENGTH = 256;

/** The members of a token's header that the verifier uses. */
export interface TokenHeader {
  readonly algorithm: Algorithm;
  readonly kid: string | undefined;
}

/** The header of a token whose signature is not verified yet: any client may have written it. */
export interface UnverifiedHeader {
  /** One of the allowed algorithms. */
  readonly alg: Algorithm;
  /** At most 256 characters. */
  readonly kid?: string | undefined;
  readonly [member: string]: unknown;
}

/** A parsed header, kept for reuse: tokens of one issuer signed with one key have equal headers. */
export interface KnownHeader {
  /** The encoded header and the dot after it. */
  readonly prefix: string;
  readonly header: TokenHeader;
}

/** A well-formed token, not verified yet. */
export interface ParsedToken {
  readonly header: TokenHeader;
  readonly claims: Record<string, unknown>;
  /** The signed text: encoded header and payload as received. */
  readonly signed: string;
  readonly signature: Buffer;
  readonly reason?: undefined;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/**
 * Parses a token and checks everything that needs no cryptography: its size (AUTH-20), three parts in canonical
 * base64url of valid UTF-8 without a byte order mark (AUTH-21), JSON objects as header and payload, an allowed `alg`
 * (AUTH-3, AUTH-4), the length of `kid` (AUTH-22), that `crit` is absent (AUTH-24), and that `b64` is not false
 * (RFC 7797). If a JSON member is repeated, the last one counts.
 */
export function parseToken(
  token: string,
  allowed: ReadonlySet<string>,
  known?: KnownHeader,
): ParsedToken | Refused {
  if (typeof token !== "string") return refuse("malformed");
  if (token.length > MAX_TOKEN_LENGTH) return refuse("too_large");
  const first = token.indexOf(".");
  const last = token.indexOf(".", first + 1);
  const hasThreeParts = first > 0 && last > first + 1 && last < token.length - 1;
  if (!hasThreeParts || token.includes(".", last + 1)) return refuse("malformed");
  const seen = known !== undefined && token.startsWith(known.prefix) ? known.header : undefined;
  const headerBytes = seen === undefined ? bytesOf(token.slice(0, first)) : undefined;
  const payloadBytes = bytesOf(token.slice(first + 1, last));
  const signature = bytesOf(token.slice(last + 1));
  if (payloadBytes === undefined || signature === undefined) return refuse("encoding");
  const header = seen ?? parseHeader(headerBytes, allowed);
  if (isRefused(header)) return header;
  const payload = textOf(payloadBytes);
  if (payload === undefined) return refuse("encoding", "payload");
  const claims = objectOf(payload);
  if (claims === undefined) return refuse("payload");
  return { header, claims, signed: token.slice(0, last), signature };
}

function parseHeader(bytes: Buffer | undefined, allowed: ReadonlySet<string>): TokenHeader | Refused {
  if (bytes === undefined) return refuse("encoding");
  const text = textOf(bytes);
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
  return Object.hasOwn(header, "reason");
}

/** Returns the header of a valid token for reuse. Copies the text, so that it does not keep the token in memory. */
export function knownHeader({ header, signed }: ParsedToken): KnownHeader {
  const prefix = Buffer.from(signed.slice(0, signed.indexOf(".") + 1), "latin1").toString("latin1");
  return { prefix, header };
}

/**
 * Returns the whole header of a token as a new object, without `__proto__` members: otherwise an application that copies
 * the header could set the prototype of the copy. The signature need not be verified yet.
 */
export function wholeHeader({ header, signed }: ParsedToken): UnverifiedHeader {
  const text = textOf(Buffer.from(signed.slice(0, signed.indexOf(".")), "base64url"));
  const members = objectOf(text ?? "") ?? {};
  dropPrototypes(members);
  return { ...members, alg: header.algorithm };
}

// Iterative, because 8 KiB of nested brackets would overflow the stack of a recursive function or of a JSON reviver.
function dropPrototypes(root: object): void {
  const open: object[] = [root];
  for (let each = open.pop(); each !== undefined; each = open.pop()) {
    if (Object.hasOwn(each, "__proto__")) Reflect.deleteProperty(each, "__proto__");
    for (const value of Object.values(each) as unknown[]) {
      if (typeof value === "object" && value !== null) open.push(value);
    }
  }
}

function isAllowed(algorithm: string, allowed: ReadonlySet<string>): algorithm is Algorithm {
  return allowed.has(algorithm);
}

/**
 * Returns the bytes of a part, or undefined if it is not canonical base64url. Node ignores illegal characters and unused
 * bits, but never writes them, so only canonical text is equal to the text that Node writes for the same bytes.
 */
function bytesOf(part: string): Buffer | undefined {
  const bytes = Buffer.from(part, "base64url");
  return bytes.toString("base64url") === part ? bytes : undefined;
}

function textOf(bytes: Buffer): string | undefined {
  try {
    return utf8.decode(bytes);
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

/** Returns whether a value is an object but not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Returns an object's own member, so that a polluted prototype cannot supply it. */
export function own(object: Readonly<Record<string, unknown>>, name: string): unknown {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
