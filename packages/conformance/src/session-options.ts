import type { Probe } from "./options.ts";

/** What the hook that a service asks at every refresh can be made to do. */
export interface HookProbe {
  /** Makes it return nothing. */
  readonly decline?: Probe | undefined;
  /** Makes it throw. */
  readonly fail?: Probe | undefined;
  /** Makes it return these scopes. */
  readonly grant?: { readonly request: Probe; readonly scopes: readonly string[] } | undefined;
  /** Lets it return again what the sign-in has granted. */
  readonly restore: Probe;
}

/** The store of revocations, when it can be taken away. */
export interface StoreProbe {
  readonly break: Probe;
  readonly restore: Probe;
  /** `revocation_fail_open` of the service. Default: true. */
  readonly failOpen?: boolean | undefined;
}

/** How the service is made to sign with another key. */
export interface RotationProbe {
  /** Publishes the next key. Default: none; whether a key is published before it signs is then not judged. */
  readonly add?: Probe | undefined;
  /** Signs with the next key from its answer on. */
  readonly promote: Probe;
}

/** How the kit gets sessions of a service that issues tokens. */
export interface SessionProbe {
  /** Signs somebody in: answers a pair of tokens as JSON, a new session at every call. */
  readonly request: Probe;
  /** The member of the answer that has the access token; dots lead into objects. Default: `access_token`. */
  readonly accessToken?: string | undefined;
  /** The member that has the refresh token. Default: `refresh_token`. */
  readonly refreshToken?: string | undefined;
  /** What a person who has signed in may ask for. Default: the probe `protected`, else `/auth/me`. */
  readonly route?: Probe | undefined;
  /** `refresh_grace_seconds` of the service. Default: 10. */
  readonly graceSeconds?: number | undefined;
  /** Lifetime of access tokens. Default: 900. */
  readonly accessSeconds?: number | undefined;
  /** Lifetime of refresh tokens. Default: 2,592,000. */
  readonly refreshSeconds?: number | undefined;
  /** `session_lifetime_days` of the service; 0 is for ever. Default: 0. */
  readonly lifetimeDays?: number | undefined;
  /** Default: none. */
  readonly hook?: HookProbe | undefined;
  /** Default: none. */
  readonly store?: StoreProbe | undefined;
  /** Default: none. */
  readonly rotation?: RotationProbe | undefined;
}

/** A provider through which people sign in. */
export interface FederatedProbe {
  /** Its name in `/auth/<name>/start`. */
  readonly provider: string;
  /** Where people are sent to. Default: any address is taken. */
  readonly authorizationEndpoint?: string | undefined;
}
