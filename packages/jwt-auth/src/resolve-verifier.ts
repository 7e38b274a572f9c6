import { type Names, namesOf, optionError } from "@svc/options";
import { type Algorithm, checkAlgorithms } from "./algorithms.ts";
import { givenKeySource } from "./given-key-source.ts";
import { isKeySource } from "./key-input.ts";
import type { KeySource } from "./key-source.ts";
import { type VerifierOptions, verifierOptions } from "./verifier-options.ts";

/** The options with all defaults filled in. */
export type ResolvedVerifierOptions = ReturnType<typeof resolveVerifierOptions>;

// createVerifier() has no options for these, unlike jwtAuth(), which creates the source of a key itself.
const unconfigured = { env: "prod", logger: undefined, timeoutMs: 5_000 } as const;

/**
 * Validates the options and fills in the defaults.
 *
 * @throws ConfigurationError that lists all unknown and invalid options
 */
export function resolveVerifierOptions(given: VerifierOptions) {
  const { audience, algorithms, issuer, keys: material, ...options } = verifierOptions.resolve(given);
  const names = namesOf(given, verifierOptions.subject);
  const keys = isKeySource(material)
    ? material
    : givenKeySource(material, { ...unconfigured, names, algorithms });
  return {
    ...options,
    keys,
    algorithms: chooseAlgorithms(algorithms, keys, names),
    issuer: issuer === "" ? undefined : issuer,
    audiences: typeof audience === "string" ? (audience === "" ? [] : [audience]) : audience,
  };
}

function chooseAlgorithms(given: readonly Algorithm[] | undefined, keys: KeySource, names: Names) {
  const has = keys.algorithms;
  const list = checkAlgorithms(names.subject, given ?? has ?? ["RS256"], names.of("algorithms"));
  const without = has === undefined ? [] : list.filter((each) => !has.includes(each));
  if (without.length === 0) return list;
  const message = `has ${without.join(", ")}, for which the key source has no keys; it has keys for ${has?.join(", ")}`;
  throw optionError(names, "algorithms", message);
}
