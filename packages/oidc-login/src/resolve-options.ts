import type { Logger } from "@svc/context";
import { createSecretSource } from "@svc/jwt-auth";
import {
  ConfigurationError,
  either,
  type Fault,
  func,
  listOf,
  number,
  objectWith,
  oneOf,
  optional,
  resolveOptions,
  secret,
  string,
  withDefault,
} from "@svc/options";
import type {
  AccessTokenHandler,
  Env,
  IdentityHandler,
  OidcLoginOptions,
  ProviderOptions,
} from "./options.ts";
import { type Provider, resolveProvider } from "./provider.ts";

/** The options with their defaults filled in. */
export interface ResolvedOptions {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly onIdentity: IdentityHandler | undefined;
  readonly onAccessToken: AccessTokenHandler | undefined;
  readonly cookieSecrets: readonly string[];
  readonly env: Env;
  readonly prefix: string;
  readonly exchangeTimeoutMs: number;
  readonly leewaySeconds: number;
  readonly logger: Logger | undefined;
  readonly now: () => number;
  readonly fetch: typeof globalThis.fetch;
}

const SUBJECT = "oidcLogin()";
const FEWEST_SECRET_BYTES = 32;
const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** @throws ConfigurationError listing all faults, by provider and key */
export function resolveOidcLoginOptions(given: OidcLoginOptions): ResolvedOptions {
  const { providers, cookieSecret, exchangeTimeoutSeconds, ...rest } = resolveOptions(SUBJECT, given, {
    // Contains client secrets, so errors must not show it if it is a string by mistake.
    providers: secret(
      objectWith<Readonly<Record<string, ProviderOptions>>>("an object of providers by name"),
    ),
    onIdentity: optional(func<IdentityHandler>()),
    onAccessToken: optional(func<AccessTokenHandler>()),
    cookieSecret: secret(either(string(), listOf(string()))),
    env: withDefault(oneOf("local", "dev", "staging", "prod"), "prod"),
    prefix: withDefault(
      string({
        allowEmpty: true,
        pattern: /^(?:\/[\w.~-]+)*$/,
        expects: "a path like /auth, without a slash at its end, or empty",
      }),
      "/auth",
    ),
    exchangeTimeoutSeconds: withDefault(number({ min: 0.05, max: 60 }), 5),
    leewaySeconds: withDefault(number({ min: 0, max: 300 }), 30),
    logger: optional(objectWith<Logger>("a logger", "debug", "info", "warn", "error", "fatal")),
    now: withDefault(func<() => number>(), () => Date.now()),
    // Looks the global `fetch` up at each call, so that a later replacement takes effect.
    fetch: withDefault(func<typeof globalThis.fetch>(), (input, init) => globalThis.fetch(input, init)),
  });
  const faults: Fault[] = [];
  const cookieSecrets: readonly string[] = typeof cookieSecret === "string" ? [cookieSecret] : cookieSecret;
  const message = secretsFault(cookieSecrets);
  if (message !== undefined) faults.push({ key: "cookieSecret", message });
  const resolved = new Map<string, Provider>();
  for (const [name, options] of Object.entries(providers)) {
    try {
      if (!NAME.test(name)) throw nameFault(name);
      resolved.set(name, resolveProvider(name, options, rest.env));
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      faults.push(...error.faults);
    }
  }
  if (Object.keys(providers).length === 0)
    faults.push({ key: "providers", message: "must name at least one provider" });
  faults.push(...sharedCallbacks(resolved.values()));
  if (faults.length > 0) throw new ConfigurationError(SUBJECT, faults);
  return { ...rest, providers: resolved, cookieSecrets, exchangeTimeoutMs: exchangeTimeoutSeconds * 1000 };
}

/** Requires a separate address for every provider, so that no code reaches another provider (RFC 9700, 4.4.2). */
function sharedCallbacks(providers: Iterable<Provider>): Fault[] {
  const faults: Fault[] = [];
  const owners = new Map<string, string>();
  for (const { name, redirectUri } of providers) {
    const owner = owners.get(redirectUri);
    if (owner === undefined) owners.set(redirectUri, name);
    else
      faults.push({
        key: `providers.${name}.redirectUri`,
        message: `is that of ${owner} too; give every provider one of its own`,
      });
  }
  return faults;
}

function nameFault(name: string): ConfigurationError {
  const message = "must have a name of at most 63 lower case letters, digits, - and _";
  return new ConfigurationError(SUBJECT, [{ key: `providers.${name}`, message }]);
}

function secretsFault(secrets: readonly string[]): string | undefined {
  if (secrets.length === 0 || secrets.length > 2)
    return "must be one secret, or the current one and the one before it";
  for (const [index, each] of secrets.entries()) {
    const { length } = Buffer.from(each);
    const which = secrets.length === 1 ? "" : ` in the ${index === 0 ? "first" : "second"} entry`;
    if (length < FEWEST_SECRET_BYTES)
      return `has ${length} bytes${which}; it needs at least ${FEWEST_SECRET_BYTES}, drawn at random`;
    try {
      createSecretSource({ secret: each });
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      return `is a key (PEM, SSH, JWK or DER)${which}, not a secret; draw 32 bytes or more at random`;
    }
  }
  return undefined;
}
