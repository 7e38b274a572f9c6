import type { Probe } from "./requests.ts";

/** Requests that control the hook that the service calls at every refresh. */
export interface HookProbe {
  /** Makes it return undefined. */
  readonly decline?: Probe | undefined;
  /** Makes it throw. */
  readonly fail?: Probe | undefined;
  /** Makes it return these scopes. */
  readonly grant?: { readonly request: Probe; readonly scopes: readonly string[] } | undefined;
  /** Restores the scopes of the sign-in. */
  readonly restore: Probe;
}

/** Requests that break and repair the revocation store. */
export interface StoreProbe {
  readonly break: Probe;
  readonly restore: Probe;
  /** `revocation_fail_open` of the service. Default: true. */
  readonly failOpen?: boolean | undefined;
}

/** Requests that rotate the service's signing key. */
export interface RotationProbe {
  /** Publishes the next key. Default: none; then the run does not judge whether a key is published before it signs. */
  readonly add?: Probe | undefined;
  /** Makes the service sign with the next key. */
  readonly promote: Probe;
}

/** How the kit gets sessions of a service that issues tokens. */
export interface SessionProbe {
  /** Signs a user in: answers a token pair as JSON, a new session at every call. */
  readonly request: Probe;
  /** The member of the answer with the access token; dots lead into objects. Default: `access_token`. */
  readonly accessToken?: string | undefined;
  /** The member with the refresh token. Default: `refresh_token`. */
  readonly refreshToken?: string | undefined;
  /** A route for signed-in users. Default: the probe `protected`, else `/auth/me`. */
  readonly route?: Probe | undefined;
  /** `refresh_grace_seconds` of the service. Default: 10. */
  readonly graceSeconds?: number | undefined;
  /** Lifetime of access tokens in seconds. Default: 900. */
  readonly accessSeconds?: number | undefined;
  /** Lifetime of refresh tokens in seconds. Default: 2,592,000. */
  readonly refreshSeconds?: number | undefined;
  /** `session_lifetime_days` of the service; 0 means unlimited. Default: 0. */
  readonly lifetimeDays?: number | undefined;
  /** Default: none. */
  readonly hook?: HookProbe | undefined;
  /** Default: none. */
  readonly store?: StoreProbe | undefined;
  /** Default: none. */
  readonly rotation?: RotationProbe | undefined;
}

/** An identity provider for sign-in. */
export interface FederatedProbe {
  /** Its name in `/auth/<name>/start`. */
  readonly provider: string;
  /** Where users are redirected to. Default: any address is accepted. */
  readonly authorizationEndpoint?: string | undefined;
}
