import { createSecretKey } from "node:crypto";
import { defineOptions, kinds as k, namesOf, optionError, type OptionsOf } from "@svc/options";
import { algorithmTexts, checkAlgorithms, isSymmetric } from "./algorithms.ts";
import { secretFault } from "./secret-rules.ts";
import type { KeySource } from "./key-source.ts";

export const secretSourceOptions = defineOptions("createSecretSource()", {
  /** The shared secret; a string is encoded as UTF-8. At least 32 bytes in `prod` (AUTH-31). Required. */
  secret: { kind: k.secret(k.either(k.string({ allowEmpty: true }), k.bytes())) },
  /** One or more of HS256, HS384 and HS512. Default: `["HS256"]`. */
  algorithms: { kind: k.withDefault(algorithmTexts, ["HS256"]) },
  /** Where the service runs; `prod` applies the strict rules. Default: `prod`. */
  env: { kind: k.environmentKind },
});

/** Options of `createSecretSource()`. */
export type SecretSourceOptions = OptionsOf<typeof secretSourceOptions>;

/**
 * Creates a source with one shared secret for HMAC, for any kid. Rejects a PEM, an SSH key, a JSON Web Key and DER in
 * every environment (AUTH-32), because clients may know the public half of such a key.
 *
 * @throws ConfigurationError when the secret or an algorithm is not allowed; its message does not contain the secret
 */
export function createSecretSource(options: SecretSourceOptions): KeySource {
  const given = secretSourceOptions.resolve(options);
  const names = namesOf(options, secretSourceOptions.subject);
  const algorithms = checkAlgorithms(names.subject, given.algorithms, names.of("algorithms"));
  if (!algorithms.every(isSymmetric)) {
    const message = `must be HS256, HS384 or HS512 with a secret; ${algorithms.join(", ")} needs a public key`;
    throw optionError(names, "algorithms", message);
  }
  const message = secretFault(given.secret, given.env);
  if (message !== undefined) throw optionError(names, "secret", message);
  const key = createSecretKey(Buffer.from(given.secret));
  return {
    generation: 0,
    algorithms,
    find: (_kid, algorithm) => (algorithms.includes(algorithm) ? key : undefined),
  };
}
