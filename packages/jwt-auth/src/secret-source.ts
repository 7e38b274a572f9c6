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
import { checkAlgorithms } from "./algorithm-list.ts";
import { type Algorithm, isSymmetric } from "./algorithms.ts";
import { type Env, envs } from "./env.ts";
import type { KeySource } from "./key-source.ts";
import { secretFault } from "./secret-rules.ts";

/** What `createSecretSource()` takes. */
export interface SecretSourceOptions {
  /** The shared secret; of a string its UTF-8 bytes count. At least 32 bytes in `prod` (AUTH-31). Required. */
  readonly secret: string | Uint8Array;
  /** HS256, HS384, HS512 or several of them. Default: `["HS256"]`. */
  readonly algorithms?: readonly Algorithm[] | undefined;
  /** Where the service runs. Default: `prod`, the strict rules. */
  readonly env?: Env | undefined;
}

const subject = "createSecretSource()";

/** A secret may be bytes, a Buffer too. */
export const bytes: Kind<Uint8Array> = {
  expects: "bytes",
  accepts: (value): value is Uint8Array => value instanceof Uint8Array,
};

/**
 * One shared secret for HMAC; the kid of a token does not matter. A PEM, an SSH key, a JSON Web Key or DER is refused
 * in every environment (AUTH-32): its public half is known to everybody.
 *
 * @throws ConfigurationError when the secret or an algorithm may not be used; never shows the secret
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
