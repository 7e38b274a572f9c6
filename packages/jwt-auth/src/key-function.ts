import type { KeyObject } from "node:crypto";
import type { Logger } from "@svc/context";
import { atMostEvery, safeLogger, withDeadline } from "@svc/resilience";
import type { Algorithm } from "./algorithms.ts";
import type { KeyFunction } from "./key-input.ts";
import { finderOf } from "./key-finder.ts";
import type { KeyReader } from "./key-reader.ts";
import { safeFields } from "./safe-fields.ts";
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
  /** The algorithms that tokens may be signed with. */
  readonly algorithms: readonly Algorithm[];
  readonly logger: Logger | undefined;
  readonly timeoutMs: number;
  /** The issuer for log messages, if there are several. */
  readonly issuer?: string | undefined;
}

const WARNING_INTERVAL_MS = 10_000;

/** Maximum number of calls in flight: the function is called before a signature is checked, so any client can cause calls. */
export const MOST_CALLS = 1_000;

/**
 * Creates the source for a function that returns the key of a token. Its result is checked like a configured key. While
 * {@link MOST_CALLS} calls are in flight, further tokens are refused.
 */
export function keyFunctionSource(
  choose: KeyFunction,
  { read, algorithms, logger, timeoutMs, issuer }: FunctionSettings,
): KeySource {
  const warn = atMostEvery(WARNING_INTERVAL_MS, (suppressed, fields: object, message: string) => {
    safeLogger(logger)?.warn({ ...(issuer && { issuer }), ...fields, suppressed }, message);
  });
  let calls = 0;

  async function call(whole: UnverifiedHeader): Promise<unknown> {
    if (calls >= MOST_CALLS) {
      warn({ calls }, "too many calls of the function `keys` are in flight; tokens are refused");
      throw new RangeError("too many calls of the function `keys` are in flight");
    }
    // A call counts only until its deadline; otherwise calls that never end would block all later ones.
    calls += 1;
    try {
      return await withDeadline(timeoutMs, (signal) => choose(whole, { signal }));
    } catch (error) {
      warn(safeFields(error), "the function `keys` failed; tokens are refused");
      throw error;
    } finally {
      calls -= 1;
    }
  }

  const lookUp: KeyLookup = async (header, whole) => {
    const given = await call(whole);
    if (given === undefined || given === null) return undefined;
    const found = read(given);
    const fault = typeof found === "string" ? found : unfit(found.keys, algorithms);
    if (fault !== undefined)
      warn({ fault }, "the function `keys` returned a value that cannot verify tokens");
    if (typeof found === "string") return "wrong key";
    const { find, names } = finderOf(found, algorithms);
    return find(header.kid, header.algorithm) ?? (names(header.kid) ? "wrong key" : undefined);
  };

  const source: FunctionSource = { generation: 0, find: () => undefined, [BY_HEADER]: lookUp };
  return source;
}

function unfit(
  keys: readonly { readonly algorithms: readonly Algorithm[] }[],
  allowed: readonly Algorithm[],
): string | undefined {
  if (keys.some(({ algorithms }) => algorithms.some((each) => allowed.includes(each)))) return undefined;
  return `fits none of the algorithms ${allowed.join(", ")}`;
}
