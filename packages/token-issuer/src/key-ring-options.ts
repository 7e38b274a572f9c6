import type { Logger } from "@svc/context";
import { type Algorithm, checkAlgorithms } from "@svc/jwt-auth";
import { defineOptions, fault, kinds as k, namesOf, type OptionsOf } from "@svc/options";

const sources = ["text", "file", "privateKey", "secret"] as const;

export const keyRingOptions = defineOptions("createKeyRing()", {
  /** A key ring as text, from an environment variable or a secret store. Default: none. */
  text: { kind: k.optional(k.secret(k.string())) },
  /** A key ring file, or a directory that contains it as `keys.json`; watched for changes. Default: none. */
  file: { kind: k.optional(k.string()) },
  /** A PEM with one private key that never changes. Default: none. */
  privateKey: { kind: k.optional(k.secret(k.string())) },
  /** One HMAC secret that never changes; a string is encoded as UTF-8. Default: none. */
  secret: { kind: k.optional(k.secret(k.either(k.string({ allowEmpty: true }), k.bytes()))) },
  /**
   * Algorithm of `privateKey` or `secret`. Default: RS256, ES256, ES384, ES512 or EdDSA, depending on the key's type; HS256
   * for a secret.
   */
  algorithm: { kind: k.optional(k.string() as k.Kind<Algorithm>) },
  /**
   * Whether only this issuer verifies refresh tokens. A replaced key is then published only until its access tokens
   * expire, and stays in the ring for its refresh tokens. Default: `false`.
   */
  refreshTokensStayHere: { kind: k.withDefault(k.boolean(), false) },
  /** Age of the current key, in days, from which the readiness check asks for a new key, 1 to 3,650. Default: 180. */
  rotateAfterDays: { kind: k.withDefault(k.number({ min: 1, max: 3650 }), 180) },
  /** Interval in seconds at which the file is checked, in addition to file system events, 0.02 to 30. Default: 5. */
  pollSeconds: { kind: k.withDefault(k.number({ min: 0.02, max: 30 }), 5) },
  /** Where the service runs; in `prod` a secret needs at least 32 bytes (AUTH-31). Default: `prod`. */
  env: { kind: k.environmentKind },
  /** Logs when the keys change or a file cannot be used. Default: none. */
  logger: { kind: k.optional(k.objectWith<Logger>("a logger", "info", "warn")) },
  /** The clock, in milliseconds since the Unix epoch; for tests. Default: `Date.now`. */
  now: { kind: k.wallClock },
}).withCheck((options, name) => {
  const [first, second] = sources.filter((source) => options[source] !== undefined);
  const shown = sources.map(name);
  const list = `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}`;
  if (first === undefined) return [fault("options", `must have one of ${list}`)];
  if (second !== undefined)
    return [fault(second, `cannot be combined with ${name(first)}: set one of ${list}`)];
  if (options.algorithm === undefined || (first !== "text" && first !== "file")) return [];
  return [fault("algorithm", `must be left out: the ${name(first)} contains the algorithm of each key`)];
});

/** Options of `createKeyRing()`: exactly one of `text`, `file`, `privateKey` and `secret` is required. */
export type KeyRingOptions = OptionsOf<typeof keyRingOptions>;

/** The options of a ring with their defaults filled in, and the caller's option names. */
export type ResolvedKeyRing = ReturnType<typeof resolveKeyRing>;

/**
 * Checks the options and fills in their defaults.
 *
 * @throws ConfigurationError that lists all unknown and invalid options
 */
export function resolveKeyRing(given: KeyRingOptions) {
  const options = keyRingOptions.resolve(given);
  const names = namesOf(given, keyRingOptions.subject);
  if (options.algorithm !== undefined)
    checkAlgorithms(names.subject, [options.algorithm], names.of("algorithm"));
  return { ...options, names };
}
