import type { Logger, Principal } from "@svc/context";
import type { Env } from "@svc/jwt-auth";
import {
  ConfigurationError,
  either,
  func,
  listOf,
  number,
  objectWith,
  oneOf,
  optional,
  resolveOptions,
  string,
  withDefault,
} from "@svc/options";
import type { IssuerEvent } from "./events.ts";
import type { KeyRing } from "./key-ring.ts";
import type { Grant, RefreshHook } from "./refresh-hook.ts";
import type { IssuerStore } from "./token-store.ts";

/** Options of `createTokenIssuer()`. */
export interface TokenIssuerOptions {
  /** The signing keys, which also verify refresh tokens. Required. */
  readonly keys: KeyRing;
  /** Remembers revoked and used tokens. In `prod` it must be shared by all replicas (ISS-16). Required. */
  readonly store: IssuerStore;
  /** Value of the `iss` claim, also required in refresh tokens. Default: none. */
  readonly issuer?: string | undefined;
  /** Value of the `aud` claim; a refresh token must name at least one of them. Default: none. */
  readonly audience?: string | readonly string[] | undefined;
  /** The claim that lists scopes. Default: `scope`. */
  readonly scopeClaim?: string | undefined;
  /** The claim that lists roles. Default: `roles`. */
  readonly rolesClaim?: string | undefined;
  /** The claim that names the tenant. Default: `tenant_id`. */
  readonly tenantClaim?: string | undefined;
  /** Lifetime of an access token, 1 to 1,440 minutes (ISS-4). Default: 15. */
  readonly accessLifetimeMinutes?: number | undefined;
  /** Lifetime of a refresh token, 1 to 3,650 days, counted from each rotation (ISS-4). Default: 30. */
  readonly refreshLifetimeDays?: number | undefined;
  /**
   * Seconds during which another use of a rotated refresh token is rejected without ending the session, 0 (strict) to 300
   * (REF-14). Default: 10.
   */
  readonly refreshGraceSeconds?: number | undefined;
  /** Days from the sign-in until a session and all its tokens end, 0 (never) to 3,650 (REF-15). Default: 0. */
  readonly sessionLifetimeDays?: number | undefined;
  /** Leeway on the dates of refresh tokens in seconds, 0 to 3,600; use the same at the verifiers. Default: 30. */
  readonly leewaySeconds?: number | undefined;
  /**
   * Called at every refresh (REF-9). Returns a `Grant` with what the session may do from now on, or undefined to end the
   * session. Default: none; the session keeps its scopes.
   */
  readonly onRefresh?: RefreshHook | undefined;
  /** Time limit of the hook, 0.05 to 60 seconds. Default: 5. */
  readonly hookTimeoutSeconds?: number | undefined;
  /** Time limit of one call of the store, 0.05 to 60 seconds. Default: 1. */
  readonly storeTimeoutSeconds?: number | undefined;
  /** Where the service runs; the strict rules hold in `prod`. Default: `prod`. */
  readonly env?: Env | undefined;
  /** Receives logs outside of requests, and in requests whose context has no logger. Default: none. */
  readonly logger?: Logger | undefined;
  /** Clock in milliseconds since the Unix epoch, for tests. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** Receives changes of sessions, for metrics or an audit log. Its errors are ignored. Default: none. */
  readonly onEvent?: ((event: IssuerEvent) => void) | undefined;
}

/** The options with their defaults filled in; times in seconds. */
export interface ResolvedIssuerOptions {
  readonly keys: KeyRing;
  readonly store: IssuerStore;
  readonly issuer: string | undefined;
  readonly audiences: readonly string[];
  readonly scopeClaim: string;
  readonly rolesClaim: string;
  readonly tenantClaim: string;
  /** The names that `extra` must not use (ISS-13). */
  readonly reserved: ReadonlySet<string>;
  readonly accessSeconds: number;
  readonly refreshSeconds: number;
  readonly graceSeconds: number;
  /** Infinity for a session without an end. */
  readonly sessionSeconds: number;
  readonly leewaySeconds: number;
  readonly onRefresh: ((principal: Principal, signal: AbortSignal) => HookAnswer) | undefined;
  readonly hookTimeoutMs: number;
  readonly storeTimeoutMs: number;
  readonly logger: Logger | undefined;
  readonly now: () => number;
  readonly onEvent: ((event: IssuerEvent) => void) | undefined;
}

type HookAnswer = Grant | null | undefined | Promise<Grant | null | undefined>;

const SUBJECT = "createTokenIssuer()";
const DAY_SECONDS = 86_400;

/** The claims with fixed names (ISS-10). `__proto__` is reserved too, since JSON readers may drop it. */
const FIXED_CLAIMS: readonly string[] = [
  "iss",
  "sub",
  "aud",
  "exp",
  "nbf",
  "iat",
  "jti",
  "typ",
  "fam",
  "grt",
  "auth_time",
  "__proto__",
];

/** @throws ConfigurationError listing every unknown and every invalid option */
export function resolveIssuerOptions(given: TokenIssuerOptions): ResolvedIssuerOptions {
  const anyText = string({ allowEmpty: true });
  const wait = number({ min: 0.05, max: 60 });
  const options = resolveOptions(SUBJECT, given, {
    keys: objectWith<KeyRing>("a key ring", "find", "signer", "jwks"),
    store: objectWith<IssuerStore>(
      "a token store",
      "isRevoked",
      "revoke",
      "revokeFamily",
      "revokeSubject",
      "rotate",
    ),
    issuer: withDefault(anyText, ""),
    audience: withDefault(either(anyText, listOf(string())), ""),
    scopeClaim: withDefault(string(), "scope"),
    rolesClaim: withDefault(string(), "roles"),
    tenantClaim: withDefault(string(), "tenant_id"),
    accessLifetimeMinutes: withDefault(number({ min: 1, max: 1440 }), 15),
    refreshLifetimeDays: withDefault(number({ min: 1, max: 3650 }), 30),
    refreshGraceSeconds: withDefault(number({ min: 0, max: 300 }), 10),
    sessionLifetimeDays: withDefault(number({ min: 0, max: 3650 }), 0),
    leewaySeconds: withDefault(number({ min: 0, max: 3600 }), 30),
    onRefresh: optional(func<RefreshHook>()),
    hookTimeoutSeconds: withDefault(wait, 5),
    storeTimeoutSeconds: withDefault(wait, 1),
    env: withDefault(oneOf("local", "dev", "staging", "prod"), "prod"),
    logger: optional(objectWith<Logger>("a logger", "debug", "info", "warn", "error", "fatal")),
    now: withDefault(func<() => number>(), () => Date.now()),
    onEvent: optional(func<(event: IssuerEvent) => void>()),
  });
  const { audience, issuer, sessionLifetimeDays } = options;
  const lifetimes = {
    accessSeconds: Math.round(options.accessLifetimeMinutes * 60),
    refreshSeconds: Math.round(options.refreshLifetimeDays * DAY_SECONDS),
    leewaySeconds: options.leewaySeconds,
  };
  refuse([
    ...claimNameFaults(options),
    ...(options.env === "prod" ? storeFaults(options.store) : []),
    ...clockFaults(options.store),
    ...lifetimeFaults(options.keys, lifetimes),
  ]);
  return {
    ...options,
    ...lifetimes,
    // An empty setting arrives as an empty string.
    issuer: issuer === "" ? undefined : issuer,
    audiences: typeof audience === "string" ? (audience === "" ? [] : [audience]) : audience,
    reserved: new Set([...FIXED_CLAIMS, options.scopeClaim, options.rolesClaim, options.tenantClaim]),
    graceSeconds: options.refreshGraceSeconds,
    sessionSeconds: sessionLifetimeDays === 0 ? Infinity : Math.round(sessionLifetimeDays * DAY_SECONDS),
    hookTimeoutMs: options.hookTimeoutSeconds * 1000,
    storeTimeoutMs: options.storeTimeoutSeconds * 1000,
  };
}

interface Fault {
  readonly key: string;
  readonly message: string;
}

function refuse(faults: readonly Fault[]): void {
  if (faults.length > 0) throw new ConfigurationError(SUBJECT, [...faults]);
}

function claimNameFaults(
  names: Readonly<Record<"scopeClaim" | "rolesClaim" | "tenantClaim", string>>,
): Fault[] {
  const faults: Fault[] = [];
  const taken = new Set(FIXED_CLAIMS);
  for (const key of ["scopeClaim", "rolesClaim", "tenantClaim"] as const) {
    const name = names[key];
    if (taken.has(name)) {
      faults.push({
        key,
        message: `must not be ${name}: a token has that claim already; choose another name`,
      });
    }
    taken.add(name);
  }
  return faults;
}

/** ISS-16. */
function storeFaults(store: IssuerStore): Fault[] {
  if (store.shared === true) return [];
  const message =
    "must be shared by all replicas in prod: otherwise a sign-out ends sessions on one replica only; " +
    "use a store in Redis or PostgreSQL (a store of your own says so with shared: true)";
  return [{ key: "store", message }];
}

/** Requires both clock operations or neither, since sign-ins and sign-outs must be dated by one clock (REV-10). */
function clockFaults(store: IssuerStore): Fault[] {
  if ((store.signInTime === undefined) === (store.revokeSubjectNow === undefined)) return [];
  return [{ key: "store", message: "must have both signInTime() and revokeSubjectNow(), or neither" }];
}

/** Requires lifetimes within those of the ring, which drops a replaced key when its last token has expired. */
function lifetimeFaults(
  { lifetimes }: KeyRing,
  own: { readonly accessSeconds: number; readonly refreshSeconds: number; readonly leewaySeconds: number },
): Fault[] {
  const faults: Fault[] = [];
  if (own.accessSeconds > lifetimes.accessSeconds) {
    faults.push(tooLong("accessLifetimeMinutes", lifetimes.accessSeconds / 60, "minutes"));
  }
  if (own.refreshSeconds > lifetimes.refreshSeconds) {
    faults.push(tooLong("refreshLifetimeDays", lifetimes.refreshSeconds / DAY_SECONDS, "days"));
  }
  if (own.leewaySeconds > lifetimes.leewaySeconds) {
    faults.push(tooLong("leewaySeconds", lifetimes.leewaySeconds, "seconds"));
  }
  return faults;
}

function tooLong(key: string, most: number, unit: string): Fault {
  const message = `must be at most ${most} ${unit}, for which the key ring keeps its keys; make the ring for longer`;
  return { key, message };
}
