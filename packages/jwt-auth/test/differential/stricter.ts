import { isUtf8 } from "node:buffer";
import type { Refused } from "@svc/jwt-auth";
import { nowSeconds } from "../support/forge.ts";
import { leewaySeconds } from "./draft.ts";

/** A class of tokens that this package refuses and that another library may accept. */
interface StricterClass {
  /** The reason with which this package refuses the tokens. */
  readonly reason: Refused["reason"];
  readonly at?: readonly string[];
  /** Returns whether the token is in this class, without using the verifier. */
  holds(token: Opened): boolean;
}

/** A token, decoded as leniently as possible. */
interface Opened {
  readonly token: string;
  readonly parts: readonly string[];
  readonly bytes: readonly Buffer[];
  readonly header: Readonly<Record<string, unknown>>;
  readonly claims: Readonly<Record<string, unknown>>;
}

const dateNames = ["exp", "iat", "nbf"];

/** All classes in which the verifier may be stricter than jose. It must refuse every token of these classes. */
export const stricterClasses: Readonly<Record<string, StricterClass>> = {
  "more than 8 KiB": { reason: "too_large", holds: ({ token }) => token.length > 8192 },
  "base64url that is not canonical": {
    reason: "encoding",
    holds: ({ parts }) => parts.some((each) => Buffer.from(each, "base64url").toString("base64url") !== each),
  },
  "bytes that are not UTF-8": {
    reason: "encoding",
    at: ["header", "payload"],
    holds: ({ bytes }) => !bytes.slice(0, 2).every(isUtf8),
  },
  "a byte order mark before the header": { reason: "header", holds: ({ bytes }) => hasMark(bytes[0]) },
  "a byte order mark before the payload": { reason: "payload", holds: ({ bytes }) => hasMark(bytes[1]) },
  crit: { reason: "critical_header", at: ["crit"], holds: ({ header }) => Object.hasOwn(header, "crit") },
  "b64 false that crit does not name": {
    reason: "critical_header",
    at: ["b64"],
    holds: ({ header }) => header["b64"] === false && !Object.hasOwn(header, "crit"),
  },
  "a kid that is not a string": {
    reason: "kid",
    at: ["kid"],
    holds: ({ header }) => Object.hasOwn(header, "kid") && typeof header["kid"] !== "string",
  },
  "a kid of more than 256 characters": {
    reason: "kid",
    at: ["kid"],
    holds: ({ header }) => typeof header["kid"] === "string" && header["kid"].length > 256,
  },
  "a date that is not finite or out of range": {
    reason: "claim_type",
    at: dateNames,
    holds: ({ claims }) =>
      dateNames.some((name) => typeof claims[name] === "number" && !isInRange(claims[name])),
  },
  "a date that is not a number": {
    reason: "claim_type",
    at: dateNames,
    holds: ({ claims }) =>
      dateNames.some((name) => Object.hasOwn(claims, name) && typeof claims[name] !== "number"),
  },
  "sub that is not a non-empty string": {
    reason: "claim_type",
    at: ["sub"],
    holds: ({ claims }) =>
      Object.hasOwn(claims, "sub") && (typeof claims["sub"] !== "string" || claims["sub"] === ""),
  },
  "jti, iss or fam that is not a string": {
    reason: "claim_type",
    at: ["jti", "iss", "fam"],
    holds: ({ claims }) =>
      ["jti", "iss", "fam"].some((name) => Object.hasOwn(claims, name) && typeof claims[name] !== "string"),
  },
  "sub, jti or fam with control characters or lone surrogates": {
    reason: "claim_type",
    at: ["sub", "jti", "fam"],
    holds: ({ claims }) => ["sub", "jti", "fam"].some((name) => isUnfit(claims[name])),
  },
  "a tenant that is not a tenant id": {
    reason: "claim_type",
    at: ["tenant_id"],
    holds: ({ claims: { tenant_id: tenant } }) =>
      isUnfit(tenant) ||
      (typeof tenant === "string" && (Array.from(tenant).length > 255 || tenant.trim() === "")),
  },
  "aud that is neither a string nor a list of strings": {
    reason: "claim_type",
    at: ["aud"],
    holds: ({ claims }) =>
      Object.hasOwn(claims, "aud") && ![claims["aud"]].flat().every((each) => typeof each === "string"),
  },
  "iat in the future": {
    reason: "issued_in_future",
    at: ["iat"],
    holds: ({ claims }) =>
      typeof claims["iat"] === "number" && Math.floor(claims["iat"]) > nowSeconds + leewaySeconds,
  },
  "exp in the past when truncated to whole seconds": {
    reason: "expired",
    at: ["exp"],
    holds: ({ claims }) =>
      typeof claims["exp"] === "number" && Math.floor(claims["exp"]) <= nowSeconds - leewaySeconds,
  },
  "a refresh token": { reason: "token_use", at: ["typ"], holds: ({ claims }) => claims["typ"] === "refresh" },
};

/** Returns the class that matches the reason of the refusal and contains the token, or undefined. */
export function classOf(token: string, { reason, at }: Refused): string | undefined {
  const opened = open(token);
  return Object.entries(stricterClasses).find(
    ([, each]) =>
      each.reason === reason && (at === undefined || each.at?.includes(at) !== false) && each.holds(opened),
  )?.[0];
}

/** Returns whether a token is in any of the classes. */
export function isOfAClass(token: string): boolean {
  const opened = open(token);
  return Object.values(stricterClasses).some((each) => each.holds(opened));
}

/** Returns whether only jose refuses the token, because its `nbf` is beyond the leeway by less than a second. */
export function isSubSecond(token: string): boolean {
  const nbf = open(token).claims["nbf"];
  return typeof nbf === "number" && !Number.isInteger(nbf) && Math.floor(nbf) === nowSeconds + leewaySeconds;
}

function open(token: string): Opened {
  const parts = token.split(".");
  const bytes = parts.map((each) => Buffer.from(each, "base64url"));
  return { token, parts, bytes, header: objectIn(bytes[0]), claims: objectIn(bytes[1]) };
}

function objectIn(bytes: Buffer | undefined): Readonly<Record<string, unknown>> {
  try {
    const value: unknown = JSON.parse((bytes ?? Buffer.alloc(0)).toString().replace(/^\uFEFF/, ""));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? { ...value } : {};
  } catch {
    return {};
  }
}

function hasMark(bytes: Buffer | undefined): boolean {
  return bytes?.subarray(0, 3).equals(Buffer.from([0xef, 0xbb, 0xbf])) === true;
}

function isUnfit(value: unknown): boolean {
  return typeof value === "string" && (!value.isWellFormed() || /\p{Cc}/u.test(value));
}

function isInRange(value: unknown): boolean {
  return Number.isFinite(value) && Number(value) >= 0 && Number(value) <= 8.64e12;
}
