/** The metadata of a built-in provider, which replaces a discovery request. */
export interface BuiltIn {
  readonly kind: "openid" | "microsoft" | "oauth";
  readonly issuer: string;
  /** Other values of `iss` that the provider's ID tokens may contain. */
  readonly alsoIssuers: readonly string[];
  readonly jwksUri: string | undefined;
  readonly authorizationEndpoint: string;
  readonly tokenEndpoint: string;
  readonly scopes: readonly string[];
}

export const OPENID_SCOPES = ["openid", "email", "profile"] as const;

/** Names of the built-in providers. */
export const BUILT_IN = ["google", "microsoft", "github"] as const;

/** Returns the metadata of a built-in provider (OIDC-16), or undefined for any other name. */
export function builtIn(name: string, directory: string): BuiltIn | undefined {
  if (name === "google") return GOOGLE;
  if (name === "github") return GITHUB;
  return name === "microsoft" ? microsoft(directory) : undefined;
}

const GOOGLE: BuiltIn = {
  kind: "openid",
  issuer: "https://accounts.google.com",
  // Google still issues ID tokens with the bare host name to older clients.
  alsoIssuers: ["accounts.google.com"],
  jwksUri: "https://www.googleapis.com/oauth2/v3/certs",
  authorizationEndpoint: "https://accounts.google.com/o/oauth2/v2/auth",
  tokenEndpoint: "https://oauth2.googleapis.com/token",
  scopes: OPENID_SCOPES,
};

const GITHUB: BuiltIn = {
  kind: "oauth",
  issuer: "https://github.com/login/oauth",
  alsoIssuers: [],
  jwksUri: undefined,
  authorizationEndpoint: "https://github.com/login/oauth/authorize",
  tokenEndpoint: "https://github.com/login/oauth/access_token",
  scopes: ["read:user", "user:email"],
};

function microsoft(directory: string): BuiltIn {
  const base = `https://login.microsoftonline.com/${directory}`;
  return {
    kind: "microsoft",
    issuer: "https://login.microsoftonline.com/{tenantid}/v2.0",
    alsoIssuers: [],
    jwksUri: `${base}/discovery/v2.0/keys`,
    authorizationEndpoint: `${base}/oauth2/v2.0/authorize`,
    tokenEndpoint: `${base}/oauth2/v2.0/token`,
    scopes: OPENID_SCOPES,
  };
}

const DIRECTORY = "{tenantid}";

/** Microsoft's format for directory ids. */
export const GUID: RegExp = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Returns the issuer of one directory. Avoids `replace`, which interprets `$&` in the replacement. */
export function issuerOfDirectory(template: string, directory: string): string {
  return template.split(DIRECTORY).join(directory);
}

/** Returns whether `iss` identifies the provider; for Microsoft, accepts any directory's issuer. */
export function isIssuer({ kind, issuer, alsoIssuers }: BuiltIn, iss: string): boolean {
  if (kind !== "microsoft") return iss === issuer || alsoIssuers.includes(iss);
  const at = issuer.indexOf(DIRECTORY);
  const directory = iss.slice(at, at + 36);
  return GUID.test(directory) && iss === issuerOfDirectory(issuer, directory);
}
