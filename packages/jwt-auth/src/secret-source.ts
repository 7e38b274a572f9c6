import {
  ConfigurationError,
  either,
  type Kind,
  listOf,
  oneOf,
  resolveOptions,
  secret,
  string,
  withDefault,
} from "@svc/options";
import { createSecretKey } from "node:crypto";
import { type Algorithm, checkAlgorithms, isSymmetric } from "./algorithms.ts";
import { type Env, envs, secretFault } from "./secret-rules.ts";
import type { KeySource } from "./key-source.ts";

/** Options of `createSecretSource()`. */
export interface SecretSourceOptions {
  /** The shared secret; a string is encoded as UTF-8. At least 32 bytes in `prod` (AUTH-31). Required. */
  readonly secret: string | Uint8Array;
  /** One or more of HS256, HS384 and HS512. Default: `["HS256"]`. */
  readonly algorithms?: readonly Algorithm[] | undefined;
  /** Where the service runs; `prod` applies the strict rules. Default: `prod`. */
  readonly env?: Env | undefined;
}

const subject = "createSecretSource()";

/** Kind of a secret given as bytes, such as a Buffer. */
export const bytes: Kind<Uint8Array> = {
  expects: "bytes",
  accepts: (value): value is Uint8Array => value instanceof Uint8Array,
};

/**
 * Creates a source with one shared secret for HMAC, for any kid. Rejects a PEM, an SSH key, a JSON Web Key and DER in
 * every environment (AUTH-32), because any client may know its public half.
 *
 * @throws ConfigurationError when the secret or an algorithm is not allowed; its message does not contain the secret
 */
export function createSecretSource(options: SecretSourceOptions): KeySource {
  const { env, ...given } = resolveOptions(subject, options, {
    secret: secret(either(string({ allowEmpty: true }), bytes)),
    algorithms: withDefault(listOf(string()), ["HS256"]),
    env: withDefault(oneOf(...envs), "prod"),
  });
  const algorithms = checkAlgorithms(subject, given.algorithms);
  if (!algorithms.every(isSymmetric)) {
    const message = `must be HS256, HS384 or HS512 with a secret; ${algorithms.join(", ")} needs a public key`;
    throw new ConfigurationError(subject, [{ key: "algorithms", message }]);
  }
  const message = secretFault(given.secret, env);
  if (message !== undefined) throw new ConfigurationError(subject, [{ key: "secret", message }]);
  const key = createSecretKey(Buffer.from(given.secret));
  return {
    generation: 0,
    algorithms,
    find: (_kid, algorithm) => (algorithms.includes(algorithm) ? key : undefined),
  };
}
