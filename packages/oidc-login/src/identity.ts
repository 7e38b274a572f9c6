/** Who somebody is, as a provider says (OIDC-19, OIDC-20). */
export interface Identity {
  /**
   * `<provider>:<subject>`: what an application stores (OIDC-21). A subject alone says nothing: two providers may
   * have the same one.
   */
  readonly federated_id: string;
  /** `sub` of the ID token; for Microsoft `<tid>:<oid>`, for GitHub the numeric user id. */
  readonly subject: string;
  /** The provider's name in the configuration. */
  readonly provider: string;
  readonly email: string | null;
  /** Whether the provider vouches for the address. Never match an account by one for which it is false (OIDC-21). */
  readonly email_verified: boolean;
  readonly name: string | null;
  /** An https address, or null. */
  readonly picture: string | null;
  /** All claims of the ID token, or what the provider's API said. Frozen where they come from an ID token. */
  readonly claims: Readonly<Record<string, unknown>>;
}

/** The identity of a sign-in that has just ended. */
export interface LoginIdentity extends Identity {
  /** Where the person wanted to go: a path of this site (OIDC-8); `/` when nothing was asked for. */
  readonly return_to: string;
}

/** What an identity is made of. */
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
    // Some providers write their booleans as text.
    email_verified: email !== null && (parts.emailVerified === true || parts.emailVerified === "true"),
    name: shortText(parts.name, 512),
    picture: httpsUrl(parts.picture),
    claims: parts.claims,
    return_to: parts.returnTo,
  });
}

/** Whether a text can be a subject: OpenID Connect allows 255 characters, and no database likes control characters. */
export function isSubject(value: unknown): value is string {
  return shortText(value, 255) !== null;
}

// oxlint-disable-next-line no-control-regex -- these are what must not be there
const CONTROL = /[\u0000-\u001f\u007f]/;

function shortText(value: unknown, most: number): string | null {
  if (typeof value !== "string" || value === "" || value.length > most || CONTROL.test(value)) return null;
  return value;
}

function httpsUrl(value: unknown): string | null {
  const text = shortText(value, 2048);
  return text !== null && URL.parse(text)?.protocol === "https:" ? text : null;
}
