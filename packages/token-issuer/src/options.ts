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
import { fixedClaims } from "./written-claims.ts";

/** What `createTokenIssuer()` takes. */
export interface TokenIssuerOptions {
  /** The signing keys; they verify refresh tokens too. Required. */
  readonly keys: KeyRing;
  /** Remembers what was revoked and used. In `prod` one that all replicas share (ISS-16). Required. */
  readonly store: IssuerStore;
  /** Written as `iss`, and required of refresh tokens. Default: none. */
  readonly issuer?: string | undefined;
  /** Written as `aud`; of refresh tokens one of these is required. Default: none. */
  readonly audience?: string | readonly string[] | undefined;
  /** The claim that lists scopes. Default: `scope`. */
  readonly scopeClaim?: string | undefined;
  /** The claim that lists roles. Default: `roles`. */
  readonly rolesClaim?: string | undefined;
  /** The claim that names the tenant. Default: `tenant_id`. */
  readonly tenantClaim?: string | undefined;
  /** How long an access token lives, 1 to 1,440 minutes (ISS-4). Default: 15. */
  readonly accessLifetimeMinutes?: number | undefined;
  /** How long a refresh token lives, 1 to 3,650 days; every rotation starts it anew (ISS-4). Default: 30. */
  readonly refreshLifetimeDays?: number | undefined;
  /**
   * For how long a refresh token that was just rotated is refused without ending the session, 0 (strict) to 300
   * seconds (REF-14). Default: 10.
   */
  readonly refreshGraceSeconds?: number | undefined;
  /** Days from the sign-in to the end of a session and of all its tokens, 0 (never) to 3,650 (REF-15). Default: 0. */
  readonly sessionLifetimeDays?: number | undefined;
  /** Leeway on the dates of refresh tokens in seconds, 0 to 3,600; as at the verifiers. Default: 30. */
  readonly leewaySeconds?: number | undefined;
  /**
   * Asked at every refresh what the session may do from now on (REF-9): answers with a `Grant`, or with nothing to end
   * the session. Default: none; the session keeps what it was issued with.
   */
  readonly onRefresh?: RefreshHook | undefined;
  /** How long that may take, 0.05 to 60 seconds. Default: 5. */
  readonly hookTimeoutSeconds?: number | undefined;
  /** How long one answer of the store may take, 0.05 to 60 seconds. Default: 1. */
  readonly storeTimeoutSeconds?: number | undefined;
  /** Where the service runs; the strict rules hold in `prod`. Default: `prod`. */
  readonly env?: Env | undefined;
  /** Gets lines of work outside of a request, and where the context has no logger. Default: none. */
  readonly logger?: Logger | undefined;
  /** The time in milliseconds since the Unix epoch; for tests. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
  /** Told of what happens to sessions, for metrics or an audit log. What it throws is ignored. Default: nobody is. */
  readonly onEvent?: ((event: IssuerEvent) => void) | undefined;
}

/** The options with every default in place, in seconds. */
export interface ResolvedIssuerOptions {
  readonly keys: KeyRing;
  readonly store: IssuerStore;
  readonly issuer: string | undefined;
  readonly audiences: readonly string[];
  readonly scopeClaim: string;
  readonly rolesClaim: string;
  readonly tenantClaim: string;
  /** The claims that `extra` must not hold (ISS-13). */
  readonly reserved: ReadonlySet<string>;
  readonly accessSeconds: number;
  readonly refreshSeconds: number;
  readonly graceSeconds: number;
  /** Infinity for a session that no date ends. */
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

/** @throws ConfigurationError listing every unknown and every wrong option */
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
    // Settings that are left empty arrive as empty strings.
    issuer: issuer === "" ? undefined : issuer,
    audiences: typeof audience === "string" ? (audience === "" ? [] : [audience]) : audience,
    reserved: new Set([...fixedClaims, options.scopeClaim, options.rolesClaim, options.tenantClaim]),
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
  const taken = new Set(fixedClaims);
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
    "must be shared by all replicas in prod: a sign-out that one process alone knows of is none; " +
    "use a store in Redis or PostgreSQL (a store of your own says so with shared: true)";
  return [{ key: "store", message }];
}

/** A sign-in dated by one clock and a sign-out by another could not be compared (REV-10). */
function clockFaults(store: IssuerStore): Fault[] {
  if ((store.signInTime === undefined) === (store.revokeSubjectNow === undefined)) return [];
  return [{ key: "store", message: "must have both signInTime() and revokeSubjectNow(), or neither" }];
}

/** A ring drops a replaced key when the last token that it signed has expired; it must know how long they live. */
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
