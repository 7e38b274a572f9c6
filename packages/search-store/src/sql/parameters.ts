/** The values of one statement, in the order of their numbers. */
export interface Parameters {
  /** The place of a value in the text, with its type: `$3::text`. Equal texts share a number. */
  add(value: string | number | null, type: string): string;
  readonly values: unknown[];
}

/** @param values what the statement has already, to be appended to */
export function createParameters(values: unknown[] = []): Parameters {
  const known = new Map<string, string>();
  return {
    values,
    add(value, type) {
      // One number has one type: PostgreSQL takes it from the first place.
      const key = `${type}\0${typeof value}\0${value}`;
      const place = known.get(key) ?? `$${values.push(value)}::${type}`;
      known.set(key, place);
      return place;
    },
  };
}
