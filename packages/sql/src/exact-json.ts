/** Thrown for JSON with an integer that a JavaScript number would round. */
export class InexactIntegerError extends RangeError {
  override readonly name = "InexactIntegerError";
  readonly code = "ERR_SVC_INEXACT_INTEGER";
}

// 2^53 has 16 digits: if no number is that long, none is rounded. A string that contains only digits does not match.
const LONG_NUMBER = /(?:^|[\s:,[])-?\d{16}/;
const INTEGER = /^-?\d+$/;
const MAX_PATH = 200;
const NAME = /^[A-Za-z_$][\w$]*$/;
const ROUNDED: unique symbol = Symbol("rounded");

/**
 * Parses JSON that another language may have written, and rejects integers that a JavaScript number cannot hold. Integers
 * from -(2^53 - 1) to 2^53 - 1 are exact; `JSON.parse` silently rounds most other integers. Accepts numbers that JavaScript
 * itself wrote (`1e300`, which `jsonb` stores as 301 digits), since they parse to the same value.
 *
 * @param root start of the path in the error, for example `payload`
 * @param member checks only this member of the outermost object and rounds integers in other members. Default: checks all
 * @throws InexactIntegerError naming the member; SyntaxError for text that is not JSON
 */
export function parseExactJson(text: string, root: string, member?: string): unknown {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text);
  let isExact = true;
  const parsed: unknown = JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    if (typeof value !== "number" || !isRounded(value, context?.source ?? "")) return value;
    isExact = false;
    return ROUNDED;
  });
  if (isExact) return parsed;
  const path = pathOfRounded(member === undefined ? parsed : memberOf(parsed, member), root);
  if (path === undefined) return JSON.parse(text);
  throw new InexactIntegerError(
    `${path} is an integer outside the safe range (-(2^53-1)..2^53-1); send it as a string`,
  );
}

function isRounded(value: number, source: string): boolean {
  if (Number.isSafeInteger(value) || source.length < 16 || !INTEGER.test(source)) return false;
  if (!Number.isFinite(value)) return true;
  return digitsOf(value) !== source && BigInt(value) !== BigInt(source);
}

/** Returns the digits of an integer without an exponent. */
function digitsOf(value: number): string {
  const [digits = "", exponent] = String(value).split("e+");
  if (exponent === undefined) return digits;
  const [whole = "", fraction = ""] = digits.split(".");
  return whole + fraction.padEnd(Number(exponent), "0");
}

// Iterates with an explicit stack: the JSON may be nested deeper than the call stack allows.
function pathOfRounded(parsed: unknown, root: string): string | undefined {
  const left: [unknown, string][] = [[parsed, root]];
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    const [value, path] = next;
    if (value === ROUNDED) return path;
    if (typeof value !== "object" || value === null) continue;
    const isList = Array.isArray(value);
    const members = Object.entries(value).map(([key, member]): [unknown, string] => [
      member,
      extended(path, key, isList),
    ]);
    for (const member of members.toReversed()) left.push(member);
  }
  return undefined;
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null && Object.hasOwn(value, name)
    ? (value as Readonly<Record<string, unknown>>)[name]
    : undefined;
}

function extended(path: string, key: string, isIndex: boolean): string {
  if (path.length >= MAX_PATH) return path;
  if (isIndex) return `${path}[${key}]`;
  return NAME.test(key)
    ? `${path}.${key}`.slice(0, MAX_PATH)
    : `${path}[${JSON.stringify(key).slice(0, MAX_PATH)}]`;
}
