import type { Algorithm, createVerifier, RefusalReason } from "@svc/jwt-auth";
import { base64url, forge, type Forgery } from "../support/forge.ts";

/** Options of the verifier of a test case, except the clock. */
export type Settings = Omit<Parameters<typeof createVerifier>[0], "now">;

/** A test case: a token with one defect, and the corrected token. */
export interface HostileToken {
  /** The id of the rule that the token breaks. */
  readonly rule: string;
  /** The defect in words, unique within its class. */
  readonly defect: string;
  readonly token: string;
  readonly reason: RefusalReason;
  /** The expected name of the claim or header in the refusal, if any. */
  readonly at?: string | undefined;
  /** The corrected token, which the same verifier accepts. */
  readonly repaired: string;
  /** Options of the verifier. Default: all asymmetric algorithms, with the fixture keys. */
  readonly settings?: Partial<Settings> | undefined;
}

/** A class of hostile tokens. */
export interface HostileClass {
  readonly name: string;
  readonly tokens: readonly HostileToken[];
}

export const asymmetric: readonly Algorithm[] = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
];

export const symmetric: readonly Algorithm[] = ["HS256", "HS384", "HS512"];

/** Settings of a verifier with shared secrets. */
export const sharedSecret: Partial<Settings> = { algorithms: symmetric };

/** Makes a test case: `forgery` describes the refused token, `repair` the accepted token. */
export function hostile(
  rule: string,
  defect: string,
  [reason, at]: readonly [RefusalReason, string?],
  forgery: Forgery,
  repair: Forgery = {},
  settings?: Partial<Settings>,
): HostileToken {
  return { rule, defect, reason, at, token: forge(forgery), repaired: forge(repair), settings };
}

/** Replaces parts of a token without signing it again. */
export function withParts(
  token: string,
  parts: { header?: unknown; payload?: unknown; signature?: string },
): string {
  const [header = "", payload = "", signature = ""] = token.split(".");
  return [
    parts.header === undefined ? header : base64url(JSON.stringify(parts.header)),
    parts.payload === undefined ? payload : base64url(JSON.stringify(parts.payload)),
    parts.signature ?? signature,
  ].join(".");
}
