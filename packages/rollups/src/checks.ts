import { ConfigurationError, fault } from "@svc/options";
import { isInteger, UUID } from "./arguments.ts";
import { isBalanced } from "./combine.ts";
import { SUBJECT } from "./options.ts";

// PostgreSQL strings cannot contain NUL, and an unpaired surrogate has no UTF-8 form.
const NO_TEXT = /[\0\p{Surrogate}]/u;
const BITS: ReadonlyMap<string, number> = new Map([
  ["smallint", 16],
  ["integer", 32],
  ["bigint", 64],
]);

/**
 * Rejects SQL that is blank, contains NUL, or has unbalanced parentheses, because the caller encloses it in
 * parentheses.
 * @throws ConfigurationError
 */
export function checkSql(key: string, sql: string): void {
  if (!/\S/.test(sql)) throw wrong(key, "must be SQL; it is blank");
  if (NO_TEXT.test(sql)) throw wrong(key, "must not contain NUL");
  if (!isBalanced(sql)) throw wrong(key, "has unbalanced parentheses");
}

/**
 * Rejects a `whenNull` that does not fit the type of its group.
 * @throws ConfigurationError
 */
export function checkWhenNull(
  key: string,
  whenNull: string,
  { type, length }: { readonly type: string; readonly length: number | undefined },
): void {
  if (length !== undefined) {
    if (NO_TEXT.test(whenNull)) throw wrong(key, "must not contain NUL");
    if (Array.from(whenNull).length > length) throw wrong(key, `must have at most ${length} characters`);
    return;
  }
  const bits = BITS.get(type);
  const fits =
    bits === undefined
      ? (type === "uuid" ? UUID : /^(?:true|false)$/).test(whenNull)
      : isInteger(whenNull, bits);
  if (!fits) throw wrong(key, `must be a value of ${type}; it is ${JSON.stringify(whenNull.slice(0, 80))}`);
}

/** Rejects floating-point sums: their result depends on the order of the rows. @throws ConfigurationError */
export function checkFloats(key: string, type: string): void {
  if (!/^(?:real|double|float)/.test(type)) return;
  const message = `must not sum ${type}, because the result depends on the order of the rows; use sum(x::numeric) and the type numeric`;
  throw wrong(key, message);
}

/** Returns the error for an option or one of its members. */
export function wrong(key: string, message: string): ConfigurationError {
  return new ConfigurationError(SUBJECT, [fault(key, message)]);
}
