import type { Logger } from "@svc/context";
import { type Algorithm, checkAlgorithms, type Env } from "@svc/jwt-auth";
import {
  boolean,
  ConfigurationError,
  either,
  func,
  type Kind,
  number,
  objectWith,
  oneOf,
  optional,
  resolveOptions,
  secret,
  string,
  withDefault,
} from "@svc/options";

/** Options of `createKeyRing()`: exactly one of `text`, `file`, `privateKey` and `secret`, and settings. */
export interface KeyRingOptions {
  /** The text of a ring, from an environment variable or a secret store. Default: none. */
  readonly text?: string | undefined;
  /** A ring's file, or a directory that holds it as `keys.json`; watched for changes. Default: none. */
  readonly file?: string | undefined;
  /** A PEM with one private key that never changes. Default: none. */
  readonly privateKey?: string | undefined;
  /** One HMAC secret that never changes; a string counts as its UTF-8 bytes. Default: none. */
  readonly secret?: string | Uint8Array | undefined;
  /**
   * Algorithm of `privateKey` or `secret`. Default: RS256, ES256, ES384, ES512 or EdDSA by the type of the key; HS256 for a
   * secret.
   */
  readonly algorithm?: Algorithm | undefined;
  /**
   * Whether only this issuer verifies refresh tokens. A replaced key is then published only until its access tokens expire,
   * and stays in the ring for its refresh tokens. Default: `false`.
   */
  readonly refreshTokensStayHere?: boolean | undefined;
  /** Age of the current key, in days, at which readiness asks for a new one, 1 to 3,650. Default: 180. */
  readonly rotateAfterDays?: number | undefined;
  /** Interval in seconds at which the file is checked, beside file system events, 0.02 to 30. Default: 5. */
  readonly pollSeconds?: number | undefined;
  /** Where the service runs; in `prod` a secret needs at least 32 bytes (AUTH-31). Default: `prod`. */
  readonly env?: Env | undefined;
  /** Logs when the keys change or a file cannot be used. Default: none. */
  readonly logger?: Logger | undefined;
  /** The clock, in milliseconds since the Unix epoch; for tests. Default: `Date.now`. */
  readonly now?: (() => number) | undefined;
}

/** The options of a ring with their defaults. */
export interface ResolvedKeyRing extends KeyRingOptions {
  readonly refreshTokensStayHere: boolean;
  readonly rotateAfterDays: number;
  readonly pollSeconds: number;
  readonly env: Env;
  readonly now: () => number;
}

export const subject = "createKeyRing()";

const sources = ["text", "file", "privateKey", "secret"] as const;

const bytes: Kind<Uint8Array> = {
  expects: "bytes",
  accepts: (value): value is Uint8Array => value instanceof Uint8Array,
};

/**
 * Checks the options and fills in their defaults.
 *
 * @throws ConfigurationError listing every unknown and every wrong option
 */
export function resolveKeyRing(given: KeyRingOptions): ResolvedKeyRing {
  const { algorithm, ...options } = resolveOptions(subject, given, {
    text: optional(secret(string())),
    file: optional(string()),
    privateKey: optional(secret(string())),
    secret: optional(secret(either(string({ allowEmpty: true }), bytes))),
    algorithm: optional(string()),
    refreshTokensStayHere: withDefault(boolean(), false),
    rotateAfterDays: withDefault(number({ min: 1, max: 3650 }), 180),
    pollSeconds: withDefault(number({ min: 0.02, max: 30 }), 5),
    env: withDefault(oneOf("local", "dev", "staging", "prod"), "prod"),
    logger: optional(objectWith<Logger>("a logger", "info", "warn")),
    now: withDefault(func<() => number>(), () => Date.now()),
  });
  const has = sources.filter((name) => options[name] !== undefined);
  if (has.length !== 1) throw wrong(has[1] ?? "options", sourceFault(has));
  if (algorithm === undefined) return { ...options, algorithm };
  if (has[0] === "text" || has[0] === "file")
    throw wrong("algorithm", `must be left out: the ${has[0]} names the algorithm of each of its keys`);
  return { ...options, algorithm: checkAlgorithms(subject, [algorithm], "algorithm")[0] };
}

function sourceFault(has: readonly string[]): string {
  const list = `${sources.slice(0, -1).join(", ")} and ${sources.at(-1)}`;
  return has.length === 0 ? `must have one of ${list}` : `must be left out beside ${has[0]}: one of ${list}`;
}

/** Makes the error for one invalid option. */
export function wrong(key: string, message: string, cause?: unknown): ConfigurationError {
  return new ConfigurationError(subject, [{ key, message }], { cause });
}
