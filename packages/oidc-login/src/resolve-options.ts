import { createSecretSource } from "@svc/jwt-auth";
import { ConfigurationError, type Fault, namesOf } from "@svc/options";
import { type OidcLoginOptions, oidcLoginOptions } from "./options.ts";
import { type Provider, resolveProvider } from "./provider.ts";

const FEWEST_SECRET_BYTES = 32;
const NAME = /^[a-z0-9][a-z0-9_-]{0,62}$/;

/** The options with their defaults filled in; `names` maps keys to the caller's option names. */
export type ResolvedOidcLogin = ReturnType<typeof resolveOidcLoginOptions>;

/** @throws ConfigurationError that lists all faults, by provider and key */
export function resolveOidcLoginOptions(given: OidcLoginOptions) {
  const { providers, cookieSecret, exchangeTimeoutSeconds, ...rest } = oidcLoginOptions.resolve(given);
  const names = namesOf(given, oidcLoginOptions.subject);
  const faults: Fault[] = [];
  const cookieSecrets: readonly string[] = typeof cookieSecret === "string" ? [cookieSecret] : cookieSecret;
  const message = secretsFault(cookieSecrets);
  if (message !== undefined) faults.push({ key: "cookieSecret", message });
  const resolved = new Map<string, Provider>();
  for (const [name, options] of Object.entries(providers)) {
    try {
      if (!NAME.test(name)) throw nameFault(name);
      resolved.set(name, resolveProvider(name, options, rest.env, names.subject));
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      faults.push(...error.faults);
    }
  }
  if (Object.keys(providers).length === 0)
    faults.push({ key: "providers", message: "must name at least one provider" });
  faults.push(...sharedCallbacks(resolved.values()));
  if (faults.length > 0) {
    throw new ConfigurationError(
      names.subject,
      faults.map(({ key, message }) => ({ key: names.of(key), message })),
    );
  }
  return {
    ...rest,
    providers: resolved,
    cookieSecrets,
    exchangeTimeoutMs: exchangeTimeoutSeconds * 1000,
    names,
  };
}

/**
 * Returns a fault for each callback that providers share, so that no code reaches another provider (RFC 9700, 4.4.2).
 */
function sharedCallbacks(providers: Iterable<Provider>): Fault[] {
  const faults: Fault[] = [];
  const owners = new Map<string, string>();
  for (const { name, redirectUri } of providers) {
    const owner = owners.get(redirectUri);
    if (owner === undefined) owners.set(redirectUri, name);
    else
      faults.push({
        key: `providers.${name}.redirectUri`,
        message: `is already used by ${owner}; each provider needs a different URL`,
      });
  }
  return faults;
}

function nameFault(name: string): ConfigurationError {
  const message = "must have a name of at most 63 lower case letters, digits, - and _";
  return new ConfigurationError(oidcLoginOptions.subject, [{ key: `providers.${name}`, message }]);
}

function secretsFault(secrets: readonly string[]): string | undefined {
  if (secrets.length === 0 || secrets.length > 2)
    return "must be one secret, or the current and the previous secret";
  for (const [index, each] of secrets.entries()) {
    const { length } = Buffer.from(each);
    const which = secrets.length === 1 ? "" : ` in the ${index === 0 ? "first" : "second"} entry`;
    if (length < FEWEST_SECRET_BYTES)
      return `has ${length} bytes${which}; it needs at least ${FEWEST_SECRET_BYTES} random bytes`;
    try {
      createSecretSource({ secret: each });
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      return `is a key (PEM, SSH, JWK or DER)${which}, not a secret; use at least 32 random bytes`;
    }
  }
  return undefined;
}
