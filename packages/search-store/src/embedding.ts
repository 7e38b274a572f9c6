import { SearchError } from "./errors.ts";

/** An embedding: finite numbers, one for each dimension of the store, not all zero. */
export type Vector = readonly number[] | Float32Array;

const MAX_HALF = 65_504;
// Half of the smallest positive half-precision number: values up to this are rounded to zero.
const MIN_HALF = 2 ** -25;

/** The requirements of a store for an embedding. */
export interface VectorShape {
  readonly dimensions: number;
}

/**
 * Checks an embedding before it is sent to the database. A store with full precision has the same limits, because its indexes
 * and searches use half precision: one embedding beyond them would make every search of its tenant fail.
 *
 * @throws SearchError `ERR_SVC_SEARCH_VECTOR`; the message names `what` but does not contain the numbers
 */
export function checkVector(
  { dimensions }: VectorShape,
  vector: unknown,
  what: string,
): asserts vector is Vector {
  if (!Array.isArray(vector) && !(vector instanceof Float32Array)) {
    throw wrong(what, "must be an array of numbers or a Float32Array");
  }
  if (vector.length !== dimensions) {
    throw wrong(what, `must have ${dimensions} dimensions; it has ${vector.length}`);
  }
  const numbers: ArrayLike<unknown> = vector;
  let largest = 0;
  for (let index = 0; index < dimensions; index++) {
    const value = numbers[index];
    if (typeof value !== "number" || !Number.isFinite(value)) {
      throw wrong(what, `must contain only finite numbers; number ${index} is not finite`);
    }
    const size = Math.abs(value);
    if (size > largest) largest = size;
  }
  if (largest === 0)
    throw wrong(what, "must not be all zeros: a zero vector has no direction, so it cannot be compared");
  if (largest > MAX_HALF)
    throw wrong(what, `must not contain numbers beyond ${MAX_HALF}: scale the vector to a length of 1`);
  if (largest <= MIN_HALF) {
    const fault = "contains only numbers that round to zero in half precision";
    throw wrong(what, `${fault}: scale the vector to a length of 1`);
  }
}

/** Returns a vector in the server's text format: `[0.1,0.2]`. */
export function vectorText(vector: Vector): string {
  return `[${vector.join(",")}]`;
}

function wrong(what: string, fault: string): SearchError {
  return new SearchError("ERR_SVC_SEARCH_VECTOR", `${what} ${fault}`);
}
