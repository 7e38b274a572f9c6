import { type Algorithm, checkAlgorithms } from "@svc/jwt-auth";
import { ConfigurationError, type EnvironmentName, type Fault, nearestName } from "@svc/options";
import { BUILT_IN, builtIn, type BuiltIn, GUID, OPENID_SCOPES } from "./built-in.ts";
import { type ProviderOptions, providerOptions, type ResolvedProviderOptions } from "./options.ts";

/** The options of a provider with their defaults filled in. */
export interface Provider extends Omit<ResolvedProviderOptions, keyof BuiltIn | "directory">, BuiltIn {
  readonly name: string;
  /** The accepted directories; empty for any. */
  readonly directories: readonly string[];
}

const SUBJECT = providerOptions.subject;
/**
 * Parameters that the application must not set: those that this package writes; `response_mode`, because a form post
 * would not include the login cookie; and `request` and `request_uri`, which replace all others (RFC 9101).
 */
const RESERVED: ReadonlySet<string> = new Set([
  "client_id",
  "redirect_uri",
  "response_type",
  "response_mode",
  "scope",
  "state",
  "nonce",
  "code_challenge",
  "code_challenge_method",
  "request",
  "request_uri",
]);

/** @throws ConfigurationError whose keys are `providers.<name>.<key>` */
export function resolveProvider(
  name: string,
  given: ProviderOptions,
  env: EnvironmentName,
  subject: string,
): Provider {
  const faults: Fault[] = [];
  const at = (key: string): string => `providers.${name}.${key}`;
  const read = named(at, () => providerOptions.resolve(given));
  const { directory: givenDirectory = "common", ...settings } = read;
  const directory = givenDirectory.toLowerCase();
  const known = builtIn(name, directory);
  const algorithms = named(at, () => asymmetric(read.algorithms));
  for (const key of ["directory", "directories"] as const) {
    if (read[key] !== undefined && known?.kind !== "microsoft")
      faults.push({ key: at(key), message: "applies only to the provider microsoft" });
  }
  const nearest = nearestName(name, BUILT_IN);
  const meant = nearest === undefined ? "" : `; did you mean ${nearest}?`;
  const needed = (key: "issuer" | "authorizationEndpoint" | "tokenEndpoint" | "jwksUri"): string => {
    const value = read[key] ?? known?.[key];
    if (value !== undefined) return value;
    // A built-in provider without an address is not a fault: GitHub issues no ID tokens, so it needs no `jwksUri`.
    if (known === undefined)
      faults.push({ key: at(key), message: `is required: ${name} is not a built-in provider${meant}` });
    return "";
  };
  const provider: Provider = {
    ...settings,
    kind: known?.kind ?? "openid",
    name,
    authorizationParameters: { ...read.authorizationParameters },
    issuer: needed("issuer"),
    alsoIssuers: read.issuer === undefined ? (known?.alsoIssuers ?? []) : [],
    jwksUri: needed("jwksUri"),
    authorizationEndpoint: needed("authorizationEndpoint"),
    tokenEndpoint: needed("tokenEndpoint"),
    scopes: read.scopes ?? known?.scopes ?? OPENID_SCOPES,
    algorithms,
    directories: (read.directories ?? (GUID.test(directory) ? [directory] : [])).map((each) =>
      each.toLowerCase(),
    ),
  };
  if (read.directories?.length === 0)
    faults.push({
      key: at("directories"),
      message: "is empty and would reject every directory; omit this option to accept any directory",
    });
  faults.push(...faultsOf(provider, env, subject).map(({ key, message }) => ({ key: at(key), message })));
  if (faults.length > 0) throw new ConfigurationError(SUBJECT, faults);
  const redirectUri = new URL(provider.redirectUri).href;
  return Object.freeze({ ...provider, redirectUri });
}

function faultsOf(provider: Provider, env: EnvironmentName, subject: string): Fault[] {
  const faults: Fault[] = [];
  const say = (key: string, message: string | undefined): void => {
    if (message !== undefined) faults.push({ key, message });
  };
  const addresses = ["authorizationEndpoint", "tokenEndpoint", "redirectUri"] as const;
  for (const key of addresses) say(key, provider[key] === "" ? undefined : addressFault(provider[key], env));
  if (provider.kind !== "oauth" && provider.jwksUri !== undefined && provider.jwksUri !== "")
    say("jwksUri", addressFault(provider.jwksUri, env));
  if (/[?#]/.test(provider.redirectUri)) say("redirectUri", "must have no query and no fragment");
  if (provider.kind === "microsoft" && provider.issuer.split("{tenantid}").length !== 2)
    say("issuer", "must contain {tenantid} exactly once, in place of the directory id");
  if (provider.kind !== "oauth" && !provider.scopes.includes("openid"))
    say("scopes", "must contain openid, without which the provider sends no ID token");
  for (const key of Object.keys(provider.authorizationParameters)) {
    if (RESERVED.has(key)) say("authorizationParameters", `must not contain ${key}, which ${subject} sets`);
  }
  for (const key of URL.parse(provider.authorizationEndpoint)?.searchParams.keys() ?? []) {
    if (RESERVED.has(key))
      say("authorizationEndpoint", `must not have the parameter ${key}, which ${subject} sets`);
  }
  return faults;
}

function addressFault(address: string, env: EnvironmentName): string | undefined {
  const url = URL.parse(address);
  if (url === null || (url.protocol !== "https:" && url.protocol !== "http:"))
    return "must be a URL that begins with https://";
  if (url.username !== "" || url.password !== "") return "must not contain a user name or password";
  if (url.hash !== "") return "must have no fragment";
  if (url.protocol === "http:" && (env === "prod" || env === "staging"))
    return `must begin with https:// in ${env}: over plain http, anyone can read and change the traffic`;
  return undefined;
}

function asymmetric(given: readonly string[]): readonly Algorithm[] {
  const list = checkAlgorithms(SUBJECT, given);
  if (!list.some((each) => each.startsWith("HS"))) return list;
  const message = "must be asymmetric, because providers publish their keys";
  throw new ConfigurationError(SUBJECT, [{ key: "algorithms", message }]);
}

/** Runs a check and prefixes the keys of its faults with their path in the whole configuration. */
function named<T>(at: (key: string) => string, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    const faults = error.faults.map(({ key, message }) => ({ key: at(key), message }));
    throw new ConfigurationError(SUBJECT, faults);
  }
}
