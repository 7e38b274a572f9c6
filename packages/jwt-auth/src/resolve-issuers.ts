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
import { createIssuerVerifier } from "./issuer-verifier.ts";
import { type GivenOptions, type JwtAuthOptions, jwtAuthOptions } from "./options.ts";
import { resolveJwtAuth } from "./resolve-jwt-auth.ts";

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
] as const satisfies readonly (keyof JwtAuthOptions)[];

/**
 * Validates the options of `jwtAuth()` and builds the verifier, for one issuer or several.
 *
 * @throws ConfigurationError with all faults, under the option names of `jwtAuth()`
 */
export function resolveAuth(given: JwtAuthOptions) {
  const issuers = (given as JwtAuthOptions | null | undefined)?.issuers;
  return issuers === undefined ? resolveJwtAuth(given) : resolveIssuers(given);
}

function resolveIssuers(given: JwtAuthOptions) {
  const options = jwtAuthOptions.resolve(given);
  const names = namesOf(given, jwtAuthOptions.subject);
  const issuers = options.issuers ?? [];
  const faults: Fault[] = single
    .filter((option) => given[option] !== undefined)
    .map((option) => fault(names.of(option), "cannot be combined with issuers; set it for each issuer"));
  const auths = issuers.map((each, index) => {
    try {
      return resolveIssuer(each, options, namesIn(names, index));
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      faults.push(...error.faults.filter(({ key }) => faults.every((other) => other.key !== key)));
      return undefined;
    }
  });
  faults.push(...repeatedIssuers(issuers, names));
  const stop = (): void => auths.forEach((auth) => auth?.ownKeys?.stop?.());
  if (faults.length > 0) {
    stop();
    throw new ConfigurationError(names.subject, faults);
  }
  const found = auths.filter((auth) => auth !== undefined);
  return {
    ...options,
    verifier: createIssuerVerifier(new Map(found.map((auth) => [auth.issuer, auth.verifier]))),
    ownKeys: { stop },
    hasAudience: found.every((auth) => auth.hasAudience),
    revocationTimeoutMs: options.revocationTimeoutSeconds * 1_000,
  };
}

/** Builds the verifier of one issuer, which has its own keys, algorithms and cache. */
function resolveIssuer(given: IssuerOptions, { issuers = [], ...shared }: GivenOptions, names: Names) {
  const issuer = issuerOptions.resolve(withNames(given, names));
  if (issuer.jwksUrl === undefined && issuer.keys === undefined)
    throw optionError(names, "jwksUrl", "is missing: set jwksUrl or keys");
  const cacheTokens = Math.ceil(shared.cacheTokens / issuers.length);
  const none = { mode: undefined, publicKey: undefined, secret: undefined };
  return resolveJwtAuth(withNames({ ...shared, ...none, ...issuer, cacheTokens }, names));
}

/** Returns names such as `issuers[0].keys` for the options of an issuer. */
function namesIn({ subject, of }: Names, index: number): Names {
  // An unknown option is one of the issuer, too.
  const isShared = (option: string): boolean =>
    Object.hasOwn(jwtAuthOptions.keys, option) && !Object.hasOwn(issuerOptions.keys, option);
  return {
    subject,
    of: (option) => (isShared(option) ? of(option) : `${of("issuers")}[${index}].${option}`),
  };
}

function repeatedIssuers(issuers: readonly IssuerOptions[], names: Names): Fault[] {
  return issuers.flatMap(({ issuer }, index) => {
    const first = issuers.findIndex((each) => each.issuer === issuer);
    if (first === index || typeof issuer !== "string") return [];
    const message = `is also the issuer of ${names.of("issuers")}[${first}]; list each issuer once`;
    return [fault(namesIn(names, index).of("issuer"), message)];
  });
}
