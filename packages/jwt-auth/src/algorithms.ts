import { ConfigurationError, type Kind, listOf, nearestName, string } from "@svc/options";

/** The supported signature algorithms (AUTH-26), without `none` (AUTH-4). */
export const algorithms = [
  "RS256",
  "RS384",
  "RS512",
  "PS256",
  "PS384",
  "PS512",
  "ES256",
  "ES384",
  "ES512",
  "EdDSA",
  "HS256",
  "HS384",
  "HS512",
] as const;

/** A signature algorithm of RFC 7518 or RFC 8037. */
export type Algorithm = (typeof algorithms)[number];

/** Option kind for a list of algorithms, which {@link checkAlgorithms} then validates in full. */
export const algorithmTexts = listOf(string()) as Kind<readonly Algorithm[]>;

/** Returns whether a value is the name of a supported algorithm. */
export function isAlgorithm(value: unknown): value is Algorithm {
  return (algorithms as readonly unknown[]).includes(value);
}

/** Returns whether an algorithm uses one shared secret to sign and to verify. */
export function isSymmetric(algorithm: Algorithm): boolean {
  return algorithm.startsWith("HS");
}

/** Length of each of the two numbers in an ECDSA signature, in bytes (RFC 7518 section 3.4). */
export const ecdsaBytes: Readonly<Record<string, number>> = { ES256: 32, ES384: 48, ES512: 66 };

/**
 * Checks the list of allowed algorithms: only known algorithms (AUTH-26), never `none` (AUTH-4), all of one family (AUTH-5).
 *
 * @param subject name of the factory for the error message, such as `jwtAuth()`
 * @param given the configured list
 * @param key name of the option, file key or variable that holds the list. Default: `algorithms`
 * @returns the list without duplicates, frozen
 * @throws ConfigurationError that names the wrong algorithms and the remedy
 */
export function checkAlgorithms(subject: string, given: unknown, key = "algorithms"): readonly Algorithm[] {
  const message = faultOf(given);
  if (message !== undefined) throw new ConfigurationError(subject, [{ key, message }]);
  return Object.freeze([...new Set(given as readonly Algorithm[])]);
}

function faultOf(given: unknown): string | undefined {
  if (!Array.isArray(given)) return `must be a list of algorithms, for example ["RS256"]`;
  const entries: readonly unknown[] = Array.from(given);
  if (entries.length === 0) return `is empty; name at least one of ${algorithms.join(", ")}`;
  for (const entry of entries) {
    const message = entryFault(entry);
    if (message !== undefined) return message;
  }
  const list = entries as readonly Algorithm[];
  const symmetric = [...new Set(list.filter(isSymmetric))];
  const asymmetric = [...new Set(list.filter((each) => !isSymmetric(each)))];
  if (symmetric.length === 0 || asymmetric.length === 0) return undefined;
  return (
    `mixes the symmetric ${symmetric.join(", ")} with the asymmetric ${asymmetric.join(", ")}; ` +
    "pick one family: HS* with a shared secret, the others with a public key or a key set"
  );
}

function entryFault(entry: unknown): string | undefined {
  if (typeof entry !== "string")
    return `has an entry that is not a string; expected one of ${algorithms.join(", ")}`;
  if (isAlgorithm(entry)) return undefined;
  if (entry.toLowerCase() === "none") return 'must not contain "none": an unsigned token proves nothing';
  const nearest = nearestName(entry, algorithms);
  const hint =
    nearest === undefined ? `expected one of ${algorithms.join(", ")}` : `did you mean ${nearest}?`;
  return `has ${JSON.stringify(entry.slice(0, 40))}, which is unknown; ${hint}`;
}
