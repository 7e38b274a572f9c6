import { nearestName } from "@svc/options";
import { SearchError } from "../errors.ts";

/** Nesting limit of `and`, `or` and `not`. */
export const MAX_DEPTH = 8;
/** Limit of comparisons in one filter. */
export const MAX_COMPARISONS = 100;
/** Limit of values in all `in` lists of one filter. */
export const MAX_LISTED = 1000;
/** Longest key in bytes. */
export const MAX_KEY_BYTES = 256;
/** Longest string value in bytes. */
export const MAX_TEXT_BYTES = 8192;

/** A value to compare with. */
export type FilterValue = string | number | boolean | null;

/** Comparisons with the value of one key; all of them must hold. */
export interface FilterComparison {
  readonly eq?: FilterValue | undefined;
  readonly in?: readonly FilterValue[] | undefined;
  readonly gt?: string | number | undefined;
  readonly gte?: string | number | undefined;
  readonly lt?: string | number | undefined;
  readonly lte?: string | number | undefined;
  readonly exists?: boolean | undefined;
}

/**
 * A condition on the metadata of a chunk: every key must meet its comparison, where a plain value means `eq`. `and`, `or` and
 * `not` take filters, so metadata keys with these names cannot be compared.
 */
export interface Filter {
  readonly and?: readonly Filter[] | undefined;
  readonly or?: readonly Filter[] | undefined;
  readonly not?: Filter | undefined;
  readonly [key: string]: FilterValue | FilterComparison | Filter | readonly Filter[] | undefined;
}

/** A parsed filter: one comparison, or several conditions joined. */
export type Condition =
  | { readonly join: "and" | "or"; readonly of: readonly Condition[] }
  | { readonly not: Condition }
  | { readonly key: string; readonly eq: FilterValue }
  | { readonly key: string; readonly in: readonly FilterValue[] }
  | { readonly key: string; readonly exists: boolean }
  | { readonly key: string; readonly order: Order; readonly than: string | number };

export type Order = "gt" | "gte" | "lt" | "lte";

const OPERATORS = ["eq", "in", "gt", "gte", "lt", "lte", "exists"];

interface Budget {
  comparisons: number;
  listed: number;
}

/**
 * Parses and validates a filter, which may come from an untrusted client.
 *
 * @throws SearchError `ERR_SVC_SEARCH_FILTER` with the position of the fault
 */
export function parseFilter(filter: unknown): Condition {
  return parseGroup(filter, "filter", 0, { comparisons: 0, listed: 0 });
}

function parseGroup(filter: unknown, place: string, depth: number, budget: Budget): Condition {
  if (!isPlain(filter)) throw wrong(place, "must be an object that maps keys to values or operators");
  if (depth > MAX_DEPTH) throw wrong(place, `is nested deeper than ${MAX_DEPTH} levels`);
  const of: Condition[] = [];
  for (const [key, value] of Object.entries(filter)) {
    if (value === undefined) continue;
    const at = under(place, key);
    if (key === "not") of.push({ not: parseGroup(value, at, depth + 1, budget) });
    else if (key === "and" || key === "or") {
      if (!Array.isArray(value)) throw wrong(at, "must be a list of filters");
      // Count every element, even an empty filter, so that a list cannot be endless.
      spend(budget, value.length, at);
      // Array.from() visits holes too, and a hole is not a valid filter.
      const parts = Array.from(value, (each, n) => parseGroup(each, `${at}[${n}]`, depth + 1, budget));
      of.push({ join: key, of: parts });
    } else {
      checkKey(key, at);
      of.push(...parseKey(key, value, at, budget));
    }
  }
  return { join: "and", of };
}

function parseKey(key: string, value: unknown, place: string, budget: Budget): Condition[] {
  if (isScalar(value)) {
    spend(budget, 1, place);
    return [{ key, eq: checkedValue(value, place) }];
  }
  if (!isPlain(value)) {
    throw wrong(place, "must be a string, a finite number, true, false, null, or an object of operators");
  }
  const given = Object.entries(value).filter(([, operand]) => operand !== undefined);
  if (given.length === 0)
    throw wrong(place, `must have an operator; expected one of ${OPERATORS.join(", ")}`);
  spend(budget, given.length, place);
  return given.map(([operator, operand]) => parseComparison(key, operator, operand, place, budget));
}

function parseComparison(
  key: string,
  operator: string,
  operand: unknown,
  place: string,
  budget: Budget,
): Condition {
  const at = under(place, operator);
  switch (operator) {
    case "eq":
      return { key, eq: checkedValue(operand, at) };
    case "in": {
      if (!Array.isArray(operand)) throw wrong(at, "must be a list of values");
      budget.listed += operand.length;
      if (budget.listed > MAX_LISTED) {
        throw wrong(at, `exceeds the limit of ${MAX_LISTED} listed values per filter`);
      }
      return { key, in: Array.from(operand, (each, n) => checkedValue(each, `${at}[${n}]`)) };
    }
    case "exists":
      if (typeof operand !== "boolean") throw wrong(at, "must be true or false");
      return { key, exists: operand };
    case "gt":
    case "gte":
    case "lt":
    case "lte": {
      const than = checkedValue(operand, at);
      if (typeof than !== "string" && typeof than !== "number") {
        throw wrong(at, "must be a string or a finite number");
      }
      return { key, order: operator, than };
    }
    default: {
      const near = nearestName(operator, OPERATORS);
      const meant = near === undefined ? `expected one of ${OPERATORS.join(", ")}` : `did you mean ${near}?`;
      throw wrong(at, `is not an operator; ${meant}`);
    }
  }
}

function spend(budget: Budget, count: number, place: string): void {
  budget.comparisons += count;
  if (budget.comparisons > MAX_COMPARISONS) {
    throw wrong(place, `exceeds the limit of ${MAX_COMPARISONS} conditions per filter`);
  }
}

function checkKey(key: string, place: string): void {
  // Neither metadata nor a statement can contain such a key.
  if (key.includes("\0") || !key.isWellFormed())
    throw wrong(place, "must not contain NUL or an unpaired surrogate");
  if (Buffer.byteLength(key) > MAX_KEY_BYTES)
    throw wrong(place, `has a key of more than ${MAX_KEY_BYTES} bytes`);
}

function checkedValue(value: unknown, place: string): FilterValue {
  if (!isScalar(value)) throw wrong(place, "must be a string, a finite number, true, false or null");
  if (typeof value === "string") {
    if (value.includes("\0") || !value.isWellFormed()) {
      throw wrong(place, "must not contain NUL or an unpaired surrogate");
    }
    if (Buffer.byteLength(value) > MAX_TEXT_BYTES)
      throw wrong(place, `has more than ${MAX_TEXT_BYTES} bytes`);
  }
  return value;
}

function isScalar(value: unknown): value is FilterValue {
  return value === null || typeof value === "string" || typeof value === "boolean" || Number.isFinite(value);
}

function isPlain(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

const SHOWN = 60;
const PLAIN = /^[A-Za-z_][A-Za-z0-9_]{0,59}$/;

/** Returns the position of a key in a filter: `filter.and[2].price`, `filter["a key with spaces"]`. */
export function under(place: string, key: string): string {
  if (PLAIN.test(key)) return `${place}.${key}`;
  return `${place}[${JSON.stringify(key.length > SHOWN ? `${key.slice(0, SHOWN)}...` : key)}]`;
}

/** Returns an error that contains the position but not the value, which may be confidential. */
export function wrong(place: string, fault: string): SearchError {
  return new SearchError("ERR_SVC_SEARCH_FILTER", `${place} ${fault}`);
}
