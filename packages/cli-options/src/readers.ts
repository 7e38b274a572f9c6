import { nearestName } from "@svc/options";

/**
 * Reads the value of a flag or variable.
 *
 * @param value the given string
 * @param name the flag or variable, for the error
 * @throws Error that names the flag or variable and what is allowed
 */
export type Reader<T> = (value: string, name: string) => T;

/** Accepts any string. */
export const text: Reader<string> = (value) => value;

/** Returns a reader of whole numbers in a range. */
export function wholeNumber(min: number, max: number): Reader<number> {
  return (value, name) => {
    const number = Number(value);
    if (/^\d+$/.test(value) && number >= min && number <= max) return number;
    throw new Error(`${name} must be a whole number from ${min} to ${max}`);
  };
}

/**
 * Returns a reader that accepts the values in a list. Its error suggests the most similar one. Call it outside the
 * definition of a command line; inside, TypeScript cannot infer its type.
 */
export function oneOf<const T extends string>(allowed: readonly T[]): Reader<T> {
  return (value, name) => {
    const found = allowed.find((each) => each === value);
    if (found !== undefined) return found;
    const nearest = nearestName(value, allowed);
    const hint = nearest === undefined ? "" : `; did you mean ${nearest}?`;
    throw new Error(`${name} must be one of ${allowed.join(", ")}${hint}`);
  };
}
