import { isPlainText, isTenantId, TENANT_ID_EXPECTED } from "@svc/context";
import { IssueError } from "./refusals.ts";

/** The person who signed in, and the rights and claims of the session. */
export interface PairRequest {
  /** The person who signed in; the `sub` of both tokens. No control characters or lone surrogates. */
  readonly subject: string;
  /** Scopes of the session. Default: none. */
  readonly scopes?: readonly string[] | undefined;
  /** Roles of the person. Default: none. */
  readonly roles?: readonly string[] | undefined;
  /** The session's tenant, a valid id according to `isTenantId()` of `@svc/context`. Default: none. */
  readonly tenant?: string | undefined;
  /**
   * Your own claims for both tokens; every refresh repeats them. Clients can read them, so they must not contain secrets.
   * Claims that the issuer writes are rejected (ISS-13). Default: none.
   */
  readonly extra?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Time at which the person authenticated, in seconds since the Unix epoch. Omit it for a sign-in that happens now: the
   * session is then dated by the same clock as sign-outs (REV-10). Default: now.
   */
  readonly authTime?: number | undefined;
}

/** The session that both tokens of a pair describe. */
export interface Session {
  readonly subject: string;
  readonly family: string;
  readonly tenant: string | undefined;
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  readonly extra: Readonly<Record<string, unknown>>;
  /** Seconds since the Unix epoch. */
  readonly signedInAt: number;
}

const known = ["subject", "scopes", "roles", "tenant", "extra", "authTime"];

/**
 * Checks the argument of `issuePair()`.
 *
 * @throws IssueError naming the invalid member
 */
export function readPairRequest(
  request: PairRequest,
  rules: {
    readonly reserved: ReadonlySet<string>;
    readonly nowSeconds: number;
    readonly leewaySeconds: number;
  },
): Omit<Session, "family" | "signedInAt"> & { readonly authTime: number | undefined } {
  if (typeof request !== "object" || request === null) throw wrong("its argument must be an object");
  const unknown = Object.keys(request).find((name) => !known.includes(name));
  if (unknown !== undefined) throw wrong(`${unknown} is unknown; expected one of ${known.join(", ")}`);
  const { subject, scopes = [], roles = [], tenant, extra = {}, authTime } = request;
  if (typeof subject !== "string" || subject === "") throw wrong("subject must be a non-empty string");
  if (!isPlainText(subject)) throw wrong("subject must not contain control characters or lone surrogates");
  if (!isScopeList(scopes)) throw wrong("scopes must be a list of strings without white space");
  if (!isTextList(roles)) throw wrong("roles must be a list of non-empty strings");
  if (tenant !== undefined && !isTenantId(tenant)) {
    throw wrong(`tenant must have ${TENANT_ID_EXPECTED}; leave it out for a session without a tenant`);
  }
  checkExtra(extra, rules.reserved);
  if (authTime !== undefined && (!isMoment(authTime, rules) || authTime < 0)) {
    throw wrong("authTime must be in seconds since the Unix epoch, and not in the future");
  }
  return { subject, scopes, roles, tenant, extra, authTime };
}

/**
 * Returns whether a value is a time in seconds since the Unix epoch, not further in the future than the leeway. Accepts
 * the end of the current second even without leeway, because `revokeSubject()` returns it. Rejects a time in
 * milliseconds.
 */
export function isMoment(
  seconds: unknown,
  { nowSeconds, leewaySeconds }: { readonly nowSeconds: number; readonly leewaySeconds: number },
): seconds is number {
  return (
    typeof seconds === "number" &&
    Number.isFinite(seconds) &&
    seconds <= nowSeconds + Math.max(1, leewaySeconds)
  );
}

/** Rejects extra claims that are functions or that the issuer writes itself (ISS-13). */
function checkExtra(extra: unknown, reserved: ReadonlySet<string>): void {
  if (typeof extra !== "object" || extra === null || Array.isArray(extra)) {
    throw wrong("extra must be an object of claims");
  }
  for (const [name, value] of Object.entries(extra)) {
    if (reserved.has(name)) throw wrong(`extra.${name} must not be set: the issuer writes that claim itself`);
    // JSON.stringify would call a function named toJSON, which could replace all claims.
    if (typeof value === "function") throw wrong(`extra.${name} must not be a function`);
  }
}

/** Returns whether a value can be written as a space-separated list and read back unchanged. */
export function isScopeList(value: unknown): value is readonly string[] {
  return isTextList(value) && value.every((each) => !/\s/.test(each));
}

/** Returns whether a value is a list of non-empty strings. */
export function isTextList(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === "string" && each !== "");
}

function wrong(what: string): IssueError {
  return new IssueError(`issuePair(): ${what}`);
}
