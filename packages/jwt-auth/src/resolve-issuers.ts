import {
  ConfigurationError,
  fault,
  type Fault,
  type Names,
  namesOf,
  optionError,
  withNames,
} from "@svc/options";
import { type IssuerOptions, issuerOptions } from "./issuer-options.ts";
import { createIssuerVerifier, shownIssuer } from "./issuer-verifier.ts";
import { type GivenOptions, type JwtAuthOptions, jwtAuthOptions } from "./options.ts";
import { audienceWarning, resolveJwtAuth } from "./resolve-jwt-auth.ts";

// Options for a single issuer: with `issuers`, they would apply to none or to all.
const single = [
  "mode",
  "jwksUrl",
  "publicKey",
  "secret",
  "keys",
  "issuer",
  "audience",
  "algorithms",
  "revocation",
] as const satisfies readonly (keyof JwtAuthOptions)[];

/**
 * Validates the options of `jwtAuth()` and builds the verifier, for one issuer or several.
 *
 * @throws ConfigurationError with all faults, under the option names of `jwtAuth()`
 */
export function resolveAuth(given: JwtAuthOptions) {
  const options = jwtAuthOptions.resolve(given);
  return options.issuers === undefined
    ? resolveJwtAuth(given)
    : resolveIssuers(options.issuers, options, namesOf(given, jwtAuthOptions.subject));
}

type ResolvedIssuer = ReturnType<typeof resolveJwtAuth>;

function resolveIssuers(issuers: readonly IssuerOptions[], options: GivenOptions, names: Names) {
  // An empty issuer or audience is not checked, as if it were omitted.
  const faults: Fault[] = single
    .filter((option) => options[option] !== undefined && options[option] !== "")
    .map((option) => fault(names.of(option), "cannot be combined with issuers; set it for each issuer"));
  const found: ResolvedIssuer[] = [];
  const stop = (): void => found.forEach(({ ownKeys }) => ownKeys?.stop?.());
  try {
    for (const [index, each] of issuers.entries()) {
      const { resolved, faults: of } = attempted(() =>
        resolveIssuer(each, index, issuers.length, options, names),
      );
      if (resolved !== undefined) found.push(resolved);
      faults.push(...of.filter(({ key }) => faults.every((other) => other.key !== key)));
    }
    faults.push(...repeatedIssuers(issuers, names));
    if (faults.length > 0) throw new ConfigurationError(names.subject, faults);
    return { ...options, ...joined(found), ownKeys: { stop } };
  } catch (error) {
    // Also for an error of an application's own key source: the fetches of the other issuers must not go on.
    stop();
    throw error;
  }
}

function joined(found: readonly ResolvedIssuer[]) {
  const unlimited = found.filter(({ audienceWarning }) => audienceWarning !== undefined);
  const names = unlimited.map(({ issuer }) => shownIssuer(issuer)).join(", ");
  return {
    verifier: createIssuerVerifier(new Map(found.map(({ issuer, verifier }) => [issuer, verifier]))),
    revocations: new Map(
      found.flatMap(({ issuer, revocation }) => (revocation === undefined ? [] : [[issuer, revocation]])),
    ),
    audienceWarning: unlimited.length === 0 ? undefined : audienceWarning(` for ${names}`),
    revocationTimeoutMs: found[0]?.revocationTimeoutMs ?? 0,
  };
}

/** Builds the verifier of one issuer, which has its own keys, algorithms and cache. */
function resolveIssuer(
  given: IssuerOptions,
  index: number,
  count: number,
  { issuers: _issuers, ...shared }: GivenOptions,
  names: Names,
): ResolvedIssuer {
  const own = namesIn(names, index, given);
  const { discovery, ...issuer } = issuerOptions.resolve(withNames(given, own));
  if (!discovery && issuer.jwksUrl === undefined && issuer.keys === undefined)
    throw optionError(own, "jwksUrl", "is missing: set discovery, jwksUrl or keys");
  const cacheTokens = Math.ceil(shared.cacheTokens / count);
  const none = { mode: undefined, publicKey: undefined, secret: undefined };
  const of = (option: string): string =>
    Object.hasOwn(issuerOptions.keys, option) ? own.of(option) : names.of(option);
  const all = { ...shared, ...none, ...issuer, cacheTokens };
  return resolveJwtAuth(withNames(all, { subject: names.subject, of }), discovery);
}

/** Returns names such as `issuers[0].keys` for the options of an issuer, or those that a plugin has attached. */
function namesIn({ subject, of }: Names, index: number, issuer: IssuerOptions): Names {
  const attached = namesOf(issuer, "");
  return attached.subject === ""
    ? { subject, of: (option) => `${of("issuers")}[${index}].${option}` }
    : attached;
}

function repeatedIssuers(issuers: readonly IssuerOptions[], names: Names): Fault[] {
  return issuers.flatMap((given, index) => {
    const first = issuers.findIndex(({ issuer }) => issuer === given.issuer);
    const other = issuers[first];
    if (first === index || other === undefined || typeof given.issuer !== "string") return [];
    const message = `is also the value of ${namesIn(names, first, other).of("issuer")}; list each issuer once`;
    return [fault(namesIn(names, index, given).of("issuer"), message)];
  });
}

/** Runs a factory and returns its result, or the faults of its options. */
function attempted<T>(make: () => T): { readonly resolved?: T; readonly faults: readonly Fault[] } {
  try {
    return { resolved: make(), faults: [] };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return { faults: error.faults };
  }
}
