import type { Algorithm, createVerifier, RefusalReason } from "@svc/jwt-auth";
import { base64url, forge, type Forgery } from "../support/forge.ts";

/** What the verifier of a row is made with beside its key source and its clock. */
export type Settings = Omit<Parameters<typeof createVerifier>[0], "now">;

/** A token with one defect, and the same token without it. */
export interface HostileToken {
  /** The id of the rule that it breaks. */
  readonly rule: string;
  /** The defect in words; no two of a class are alike. */
  readonly defect: string;
  readonly token: string;
  readonly reason: RefusalReason;
  /** The claim or header that is named, where one is. */
  readonly at?: string | undefined;
  /** Accepted by the verifier that refuses `token`. */
  readonly repaired: string;
  /** Default: a verifier of every asymmetric algorithm, with the fixture keys. */
  readonly settings?: Partial<Settings> | undefined;
}

/** What tokens of one kind have in common. */
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

/** For a verifier of shared secrets. */
export const sharedSecret: Partial<Settings> = { algorithms: symmetric };

/** A row whose repaired token is a plain good one, or the same forgery with `repair` over it. */
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

/** The text of a token whose signature belongs to another header or payload. */
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
