import {
  ConfigurationError,
  fault,
  type Fault,
  type Names,
  namesOf,
  optionError,
  type ResolvedOptions,
  withNames,
} from "@svc/options";
import { type IssuerOptions, issuerOptions } from "./issuer-options.ts";
import { createIssuerVerifier, shownIssuer } from "./issuer-verifier.ts";
import { type GivenOptions, type JwtAuthOptions, jwtAuthOptions } from "./options.ts";
import { audienceWarning, resolveJwtAuth } from "./resolve-jwt-auth.ts";

const FOR_EACH = "set it for each issuer";

// Options for a single issuer, with the remedy: with `issuers`, they would apply to none or to all.
const single = {
  mode: "remove it",
  jwksUrl: FOR_EACH,
  discovery: FOR_EACH,
  publicKey: "use keys of the issuer",
  secret: "use keys of the issuer, with a KeyObject of type secret",
  keys: FOR_EACH,
  issuer: FOR_EACH,
  audience: FOR_EACH,
  algorithms: FOR_EACH,
  revocation: FOR_EACH,
} as const satisfies Partial<Record<keyof JwtAuthOptions, string>>;

type SingleOption = keyof typeof single;

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

/** The options of one issuer, read once, with their names. */
interface Entry {
  readonly options: ResolvedOptions<(typeof issuerOptions)["keys"]>;
  readonly names: Names;
}

type ResolvedIssuer = ReturnType<typeof resolveJwtAuth>;

function resolveIssuers(issuers: readonly IssuerOptions[], options: GivenOptions, names: Names) {
  // An empty issuer or audience is not checked, as if it were omitted.
  const omitted: readonly unknown[] = [undefined, "", false];
  const faults: Fault[] = (Object.keys(single) as SingleOption[])
    .filter((option) => !omitted.includes(options[option]))
    .map((option) => fault(names.of(option), `cannot be combined with issuers; ${single[option]}`));
  const entries: Entry[] = [];
  const found: ResolvedIssuer[] = [];
  const stop = (): void => found.forEach(({ ownKeys }) => ownKeys?.stop?.());
  try {
    for (const [index, each] of issuers.entries()) {
      const { resolved, faults: of } = attempted(() => {
        const entry = readEntry(each, index, names);
        entries.push(entry);
        return resolveIssuer(entry, issuers.length, options, names);
      });
      if (resolved !== undefined) found.push(resolved);
      faults.push(...of.filter(({ key }) => faults.every((other) => other.key !== key)));
    }
    faults.push(...repeatedIssuers(entries));
    if (faults.length > 0) throw new ConfigurationError(names.subject, faults);
    return { ...options, ...joined(found), ownKeys: { stop } };
  } catch (error) {
    // Stop the fetches of the other issuers after any error, including one from an application's own key source.
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
  { options: issuer, names: own }: Entry,
  count: number,
  { issuers: _issuers, ...shared }: GivenOptions,
  names: Names,
): ResolvedIssuer {
  if (!issuer.discovery && issuer.jwksUrl === undefined && issuer.keys === undefined)
    throw optionError(own, "jwksUrl", "is missing: set discovery, jwksUrl or keys");
  const cacheTokens = Math.ceil(shared.cacheTokens / count);
  const none = { mode: undefined, publicKey: undefined, secret: undefined };
  const of = (option: string): string =>
    Object.hasOwn(issuerOptions.keys, option) ? own.of(option) : names.of(option);
  const all = { ...shared, ...none, ...issuer, cacheTokens };
  return resolveJwtAuth(withNames(all, { subject: names.subject, of }), shownIssuer(issuer.issuer));
}

/**
 * Reads the options of an issuer, which may be an instance of a class. Errors name the options as the plugin does, or as in
 * `issuers[0].keys`.
 */
function readEntry(given: IssuerOptions, index: number, { subject, of }: Names): Entry {
  const attached = namesOf(given, "");
  if (attached.subject !== "") return { options: issuerOptions.resolve(given), names: attached };
  const names = { subject, of: (option: string) => `${of("issuers")}[${index}].${option}` };
  try {
    return { options: issuerOptions.resolve(given), names };
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    throw new ConfigurationError(
      subject,
      error.faults.map(({ key, message }) => fault(names.of(key), message)),
    );
  }
}

function repeatedIssuers(entries: readonly Entry[]): Fault[] {
  return entries.flatMap((entry) => {
    const first = entries.find(({ options }) => options.issuer === entry.options.issuer);
    if (first === undefined || first === entry) return [];
    const message = `is also the value of ${first.names.of("issuer")}; list each issuer once`;
    return [fault(entry.names.of("issuer"), message)];
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
