/** Collects the parameters of one statement in the order of their placeholders. */
export interface Parameters {
  /** Adds a value and returns its placeholder with the type: `$3::text`. Equal values share a number. */
  add(value: string | number | null, type: string): string;
  readonly values: unknown[];
}

export function createParameters(): Parameters {
  const values: unknown[] = [];
  const known = new Map<string, string>();
  return {
    values,
    add(value, type) {
      // Include the type: PostgreSQL infers a parameter's type from its first use.
      const key = `${type}\0${typeof value}\0${value}`;
      const place = known.get(key) ?? `$${values.push(value)}::${type}`;
      known.set(key, place);
      return place;
    },
  };
}
