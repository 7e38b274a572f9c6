/** The identity of a person according to a provider (OIDC-19, OIDC-20). */
export interface Identity {
  /**
   * `<provider>:<subject>`: the id that an application stores (OIDC-21). A subject alone is ambiguous, because two providers
   * may use the same subject.
   */
  readonly federated_id: string;
  /** `sub` of the ID token; for Microsoft `<tid>:<oid>`, for GitHub the numeric user id. */
  readonly subject: string;
  /** The provider's name in the configuration. */
  readonly provider: string;
  readonly email: string | null;
  /** Whether the provider has verified the address. Never match an account by an unverified address (OIDC-21). */
  readonly email_verified: boolean;
  readonly name: string | null;
  /** An https address, or null. */
  readonly picture: string | null;
  /** All claims of the ID token (frozen), or the claims that `onAccessToken` returned. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** The identity from a sign-in that has just succeeded. */
export interface LoginIdentity extends Identity {
  /** The path on this site that the start request named (OIDC-8); `/` by default. */
  readonly return_to: string;
}

/** The values from which an identity is built. */
export interface IdentityParts {
  readonly provider: string;
  readonly subject: string;
  readonly email: unknown;
  readonly emailVerified: unknown;
  readonly name: unknown;
  readonly picture: unknown;
  readonly claims: Readonly<Record<string, unknown>>;
  readonly returnTo: string;
}

export function identityOf(parts: IdentityParts): LoginIdentity {
  const email = shortText(parts.email, 320);
  return Object.freeze({
    federated_id: `${parts.provider}:${parts.subject}`,
    subject: parts.subject,
    provider: parts.provider,
    email,
    // Some providers send booleans as strings.
    email_verified: email !== null && (parts.emailVerified === true || parts.emailVerified === "true"),
    name: shortText(parts.name, 512),
    picture: httpsUrl(parts.picture),
    claims: parts.claims,
    return_to: parts.returnTo,
  });
}

/** Returns whether a value can be a subject: up to 255 characters (OpenID Connect) without control characters. */
export function isSubject(value: unknown): value is string {
  return shortText(value, 255) !== null;
}

// oxlint-disable-next-line no-control-regex -- this pattern finds control characters
const CONTROL = /[\u0000-\u001f\u007f]/;

function shortText(value: unknown, most: number): string | null {
  if (typeof value !== "string" || value === "" || value.length > most || CONTROL.test(value)) return null;
  return value;
}

function httpsUrl(value: unknown): string | null {
  const text = shortText(value, 2048);
  return text !== null && URL.parse(text)?.protocol === "https:" ? text : null;
}
