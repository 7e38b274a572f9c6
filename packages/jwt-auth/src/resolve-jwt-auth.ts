import { ConfigurationError, type Fault, type Names, namesOf } from "@svc/options";
import { type Algorithm, checkAlgorithms, isSymmetric } from "./algorithms.ts";
import { createDiscoveredKeySource } from "./discovered-key-source.ts";
import { givenKeySource } from "./given-key-source.ts";
import { isKeySource } from "./key-input.ts";
import { createKeySetSource } from "./key-set-source.ts";
import type { KeySource } from "./key-source.ts";
import { type GivenOptions, type JwtAuthOptions, jwtAuthOptions } from "./options.ts";
import { createPemSource } from "./pem-source.ts";
import type { RevocationCheck } from "./revocation.ts";
import { createSecretSource } from "./secret-source.ts";
import { createVerifier } from "./verifier.ts";

const materials = { jwks: "jwksUrl", public_key: "publicKey", secret: "secret" } as const;
const keyOptions = [...Object.values(materials), "keys", "discovery"] as const;
type Material = (typeof keyOptions)[number];

// Maps the option names of createKeySetSource() to those of jwtAuth().
const KEY_SET_NAMES: Readonly<Record<string, string>> = {
  url: "jwksUrl",
  timeoutSeconds: "jwksTimeoutSeconds",
  attempts: "jwksAttempts",
  breakerFailures: "jwksBreakerFailures",
  breakerCoolDownSeconds: "jwksBreakerCoolDownSeconds",
};

const NO_KEYS: KeySource = { generation: 0, find: () => undefined };

const NO_CHECKS: ReadonlyMap<string, RevocationCheck> = new Map();

/**
 * Validates the options and builds the verifier.
 *
 * @param shownIssuer one of several issuers for log messages, without secrets; undefined for a single issuer
 * @throws ConfigurationError with all faults, under the option names of `jwtAuth()`
 */
export function resolveJwtAuth(given: JwtAuthOptions, shownIssuer?: string) {
  const options = jwtAuthOptions.resolve(given);
  const { subject, of: name } = namesOf(given, jwtAuthOptions.subject);
  const faults: Fault[] = [];
  const material = materialOf(options, name, faults);
  const algorithms = algorithmsOf(options, material, name, faults);
  const keys = readKeys(options, material, algorithms, faults, shownIssuer) ?? NO_KEYS;
  const verifier = attempted(faults, {}, () => createVerifier({ ...verifying(options), keys, algorithms }));
  if (verifier === undefined || faults.length > 0) {
    if (keys !== options.keys) keys.stop?.();
    throw new ConfigurationError(
      subject,
      faults.map(({ key, message }) => ({ key: key.split(", ").map(name).join(", "), message })),
    );
  }
  return {
    ...options,
    verifier,
    /** The key source that `jwtAuth()` must stop; undefined with the option `keys`. */
    ownKeys: keys === options.keys ? undefined : keys,
    /** The checks of several issuers, by the value of `iss`. */
    revocations: NO_CHECKS,
    audienceWarning: options.audience.length > 0 ? undefined : audienceWarning(""),
    revocationTimeoutMs: options.revocationTimeoutSeconds * 1_000,
  };
}

/** @param of ` for ` and the issuers without an audience; empty for a single issuer */
export function audienceWarning(of: string): string {
  return `no audience is configured${of}: tokens issued for other services are accepted`;
}

/** Returns the key option in use. Exactly one must be set, and it must match `mode`. */
function materialOf(options: GivenOptions, name: Names["of"], faults: Fault[]): Material | undefined {
  const given: Material[] = keyOptions.filter(
    (option) => options[option] !== undefined && options[option] !== false,
  );
  const wanted = options.mode === undefined ? undefined : materials[options.mode];
  const [only] = given;
  if (only === undefined) {
    const message =
      wanted === undefined
        ? `is missing: set ${keyOptions.map(name).join(", ")} or ${name("issuers")}`
        : `is required in mode ${String(options.mode)}`;
    faults.push({ key: wanted ?? "jwksUrl", message });
  } else if (given.length > 1) {
    faults.push({
      key: given.join(", "),
      message: "cannot be combined; set one of them, which determines how tokens are verified",
    });
  } else if (wanted !== undefined && wanted !== only) {
    faults.push({
      key: "mode",
      message: `is ${String(options.mode)}, which needs ${name(wanted)}; ${name(only)} is set`,
    });
  }
  return given.length === 1 ? only : undefined;
}

/**
 * Returns the allowed algorithms and checks that they suit the kind of key. Returns undefined if the application's own key
 * source determines them.
 */
function algorithmsOf(
  options: GivenOptions,
  material: Material | undefined,
  name: Names["of"],
  faults: Fault[],
): readonly Algorithm[] | undefined {
  const shared = material === "secret";
  if (options.algorithms === undefined) {
    return material === "keys" ? undefined : [shared ? "HS256" : "RS256"];
  }
  const list = attempted(faults, {}, () => checkAlgorithms("", options.algorithms));
  if (list === undefined) return ["RS256"];
  if (material !== undefined && material !== "keys" && list.some(isSymmetric) !== shared) {
    const remedy = shared
      ? "with a secret, use HS256, HS384 or HS512"
      : `with ${name(material)}, use RS*, PS*, ES* or EdDSA`;
    faults.push({ key: "algorithms", message: `has ${list.join(", ")}; ${remedy}` });
  }
  return list;
}

function readKeys(
  options: GivenOptions,
  material: Material | undefined,
  algorithms: readonly Algorithm[] | undefined,
  faults: Fault[],
  shownIssuer: string | undefined,
): KeySource | undefined {
  // Skip the key if the algorithms are refused: a message that the key does not fit them would mislead.
  if (faults.some(({ key }) => key === "algorithms")) return undefined;
  return attempted(faults, KEY_SET_NAMES, () => keysOf(options, material, algorithms, shownIssuer));
}

function keysOf(
  options: GivenOptions,
  material: Material | undefined,
  algorithms: readonly Algorithm[] | undefined,
  shownIssuer: string | undefined,
): KeySource | undefined {
  const { publicKey, secret: shared, env } = options;
  if (material === "secret" && shared !== undefined)
    return createSecretSource({ secret: shared, algorithms, env });
  if (material === "publicKey" && publicKey !== undefined) return createPemSource({ publicKey, algorithms });
  if (material === "keys") return ownKeysOf(options, algorithms, shownIssuer);
  const settings = {
    algorithms,
    env,
    logger: options.logger,
    timeoutSeconds: options.jwksTimeoutSeconds,
    attempts: options.jwksAttempts,
    breakerFailures: options.jwksBreakerFailures,
    breakerCoolDownSeconds: options.jwksBreakerCoolDownSeconds,
  };
  if (material === "discovery") return createDiscoveredKeySource({ ...settings, issuer: options.issuer });
  if (material !== "jwksUrl" || options.jwksUrl === undefined) return undefined;
  return createKeySetSource({ ...settings, url: options.jwksUrl });
}

/** Returns the application's key source, or a source for its key. */
function ownKeysOf(
  { keys, env, logger, jwksTimeoutSeconds }: GivenOptions,
  algorithms: readonly Algorithm[] | undefined,
  issuer: string | undefined,
): KeySource | undefined {
  if (keys === undefined || isKeySource(keys)) return keys;
  return givenKeySource(keys, {
    names: { subject: jwtAuthOptions.subject, of: (option) => option },
    algorithms,
    env,
    logger,
    timeoutMs: jwksTimeoutSeconds * 1_000,
    issuer,
  });
}

function verifying(options: GivenOptions) {
  const { issuer, audience, leewaySeconds, scopeClaim, rolesClaim, tenantClaim, cacheTokens, now } = options;
  return { issuer, audience, leewaySeconds, scopeClaim, rolesClaim, tenantClaim, cacheTokens, now };
}

/** Runs a factory and collects its faults under the option names of `jwtAuth()`, one fault per option. */
function attempted<T>(
  faults: Fault[],
  names: Readonly<Record<string, string>>,
  make: () => T,
): T | undefined {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    for (const { key, message } of error.faults) {
      const name = names[key] ?? key;
      if (!faults.some((fault) => fault.key === name)) faults.push({ key: name, message });
    }
    return undefined;
  }
}
