import type { KeyObject } from "node:crypto";
import type { Logger } from "@svc/context";
import { atMostEvery, errorFields, safeLogger, withDeadline } from "@svc/resilience";
import type { KeyFunction } from "./key-input.ts";
import type { KeyReader, ReadKeys } from "./key-reader.ts";
import type { KeySource } from "./key-source.ts";
import type { TokenHeader, UnverifiedHeader } from "./token-parser.ts";

/** Finds the key of a token by its header. Rejects when the function of the application fails. */
export type KeyLookup = (
  header: TokenHeader,
  whole: UnverifiedHeader,
) => Promise<KeyObject | "wrong key" | undefined>;

const BY_HEADER: unique symbol = Symbol("by header");

/** A source that the verifier queries with the whole header of each token. */
interface FunctionSource extends KeySource {
  readonly [BY_HEADER]: KeyLookup;
}

/** Returns the look-up of a source that was made from a function; undefined for any other source. */
export function keyLookupOf(source: KeySource): KeyLookup | undefined {
  return (source as Partial<FunctionSource>)[BY_HEADER];
}

interface FunctionSettings {
  readonly read: KeyReader;
  readonly logger: Logger | undefined;
  readonly timeoutMs: number;
}

const WARNING_INTERVAL_MS = 10_000;

/** Creates the source for a function that returns the key of a token. Its result is checked like a configured key. */
export function keyFunctionSource(
  choose: KeyFunction,
  { read, logger, timeoutMs }: FunctionSettings,
): KeySource {
  const warn = atMostEvery(WARNING_INTERVAL_MS, (suppressed, fields: object, message: string) => {
    safeLogger(logger)?.warn({ ...fields, suppressed }, message);
  });

  const lookUp: KeyLookup = async (header, whole) => {
    let given: unknown;
    try {
      given = await withDeadline(timeoutMs, () => choose(whole));
    } catch (error) {
      warn(errorFields(error), "the function `keys` failed; tokens are refused");
      throw error;
    }
    if (given === undefined || given === null) return undefined;
    const found = read(given);
    if (typeof found !== "string") return selected(found, header);
    warn({ fault: found }, "the function `keys` returned a value that cannot verify tokens");
    return "wrong key";
  };

  const source: FunctionSource = { generation: 0, find: () => undefined, [BY_HEADER]: lookUp };
  return source;
}

function selected(
  { keys, single }: ReadKeys,
  { kid, algorithm }: TokenHeader,
): KeyObject | "wrong key" | undefined {
  const named = keys.filter((each) =>
    kid === undefined ? keys.length === 1 : each.kid === kid || (single && each.kid === undefined),
  );
  const key = named.find(({ algorithms }) => algorithms.includes(algorithm))?.key;
  return key ?? (named.length === 0 ? undefined : "wrong key");
}
