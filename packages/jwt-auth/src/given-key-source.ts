import type { Logger } from "@svc/context";
import { type EnvironmentName, type Names, optionError } from "@svc/options";
import { type Algorithm, checkAlgorithms } from "./algorithms.ts";
import { fitFault } from "./key-check.ts";
import { keyFunctionSource } from "./key-function.ts";
import type { KeyFunction, VerificationKey } from "./key-input.ts";
import { finderOf } from "./key-finder.ts";
import { createKeyReader, type ReadKeys } from "./key-reader.ts";
import { MOST_KEYS } from "./key-set.ts";
import type { KeySource } from "./key-source.ts";

/** Settings of the source for a given key. */
export interface GivenKeySettings {
  /** Names of the options for error messages. */
  readonly names: Names;
  /** The configured algorithms. Default: those of the key, see {@link givenKeySource}. */
  readonly algorithms: readonly Algorithm[] | undefined;
  readonly env: EnvironmentName;
  readonly logger: Logger | undefined;
  /** Timeout of one call of a function, in milliseconds. */
  readonly timeoutMs: number;
  /** The issuer for log messages, if there are several. */
  readonly issuer?: string | undefined;
}

/**
 * Creates the source for a key that the application passes as the option `keys`, or for its function. Without configured
 * algorithms, a key verifies only the algorithm that it was made for, or RS256 or HS256 if it fits several.
 *
 * @throws ConfigurationError when the key cannot be read, is private, or does not fit an algorithm
 */
export function givenKeySource(given: VerificationKey | KeyFunction, settings: GivenKeySettings): KeySource {
  const { names, env, logger, timeoutMs, issuer } = settings;
  const wanted =
    settings.algorithms && checkAlgorithms(names.subject, settings.algorithms, names.of("algorithms"));
  if (typeof given === "function") {
    const algorithms = wanted ?? (["RS256"] as const);
    const read = createKeyReader(env, algorithms);
    return keyFunctionSource(given, { read, algorithms, logger, timeoutMs, issuer });
  }
  const found = createKeyReader(env, wanted)(given);
  if (typeof found === "string") throw optionError(names, "keys", found);
  const algorithms = wanted ?? defaultAlgorithms(found);
  const message = found.single ? singleFault(found, algorithms) : setFault(found, algorithms);
  if (message !== undefined) throw optionError(names, "keys", message);
  return { generation: 0, algorithms, find: finderOf(found, algorithms).find };
}

function defaultAlgorithms({ keys }: ReadKeys): readonly Algorithm[] {
  const first = keys.flatMap(({ algorithms }) => algorithms.slice(0, 1));
  // A key that fits no algorithm causes the same error as with the default of the option `algorithms`.
  if (first.length === 0) return [keys[0]?.key.type === "secret" ? "HS256" : "RS256"];
  return Object.freeze([...new Set(first)]);
}

function singleFault({ keys }: ReadKeys, algorithms: readonly Algorithm[]): string | undefined {
  const [only] = keys;
  return only && fitFault(only.key, only.algorithms, algorithms);
}

function setFault({ keys, cut }: ReadKeys, algorithms: readonly Algorithm[]): string | undefined {
  // The keys of a file are under the control of the application, so a key that is never used is a mistake.
  if (cut) return `has more than ${MOST_KEYS} keys for the algorithms; remove those that are not in use`;
  const has = [...new Set(keys.flatMap((each) => each.algorithms))];
  const without = algorithms.filter((each) => !has.includes(each));
  if (without.length === 0) return undefined;
  return `has no key for ${without.join(", ")}; its keys fit ${has.join(", ")}`;
}
