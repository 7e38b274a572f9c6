/**
 * What one option may be. `expects` completes the sentence "must be ..."; `accepts` is asked only for values
 * that are not undefined.
 */
export interface Kind<T> {
  readonly expects: string;
  accepts(value: unknown): value is T;
  /** Set for values that must not be shown in an error message. */
  readonly secret?: boolean | undefined;
}

/** A kind together with what holds when the option is left out; without a default the result may be undefined. */
export interface OptionalKind<T, D> extends Kind<T> {
  readonly optional: true;
  readonly fallback: D;
}

function kind<T>(expects: string, accepts: (value: unknown) => boolean): Kind<T> {
  return { expects, accepts: accepts as (value: unknown) => value is T };
}

function range(min: number | undefined, max: number | undefined): string {
  if (min !== undefined && max !== undefined) return ` from ${min} to ${max}`;
  if (min !== undefined) return ` of at least ${min}`;
  return max === undefined ? "" : ` of at most ${max}`;
}

/** Bounds of a number, both inclusive. */
export interface Bounds {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/** A whole number. */
export function integer({ min, max }: Bounds = {}): Kind<number> {
  return kind(
    `a whole number${range(min, max)}`,
    (value) => Number.isSafeInteger(value) && within(value as number, min, max),
  );
}

/** A finite number. */
export function number({ min, max }: Bounds = {}): Kind<number> {
  return kind(
    `a number${range(min, max)}`,
    (value) => Number.isFinite(value) && within(value as number, min, max),
  );
}

function within(value: number, min = -Infinity, max = Infinity): boolean {
  return value >= min && value <= max;
}

/** true or false. */
export function boolean(): Kind<boolean> {
  return kind("true or false", (value) => typeof value === "boolean");
}

/** A string that is not empty, unless `allowEmpty`. */
export function string({ allowEmpty = false, pattern, expects }: StringRules = {}): Kind<string> {
  const shape = pattern === undefined ? "" : ` that matches ${String(pattern)}`;
  const text = expects ?? (allowEmpty || shape !== "" ? `a string${shape}` : "a string that is not empty");
  return kind(
    text,
    (value) =>
      typeof value === "string" &&
      (allowEmpty || value !== "") &&
      // test() would remember where a pattern with the flag g has stopped.
      (pattern === undefined || value.search(pattern) !== -1),
  );
}

/** What a string must look like. */
export interface StringRules {
  /** Default false. */
  readonly allowEmpty?: boolean | undefined;
  /** Default: any string. */
  readonly pattern?: RegExp | undefined;
  /** Completes "must be ..."; needed where a pattern says it less clearly. Default: what the other rules say. */
  readonly expects?: string | undefined;
}

/** One of the listed values. */
export function oneOf<const T extends readonly (string | number | boolean)[]>(...values: T): Kind<T[number]> {
  const shown = values.map((value) => JSON.stringify(value)).join(", ");
  return kind(`one of ${shown}`, (value) => (values as readonly unknown[]).includes(value));
}

/** A list whose every entry is of a kind; secret when its entries are. */
export function listOf<T>(entry: Kind<T>): Kind<readonly T[]> {
  return {
    ...kind<readonly T[]>(
      `a list, each entry ${entry.expects}`,
      (value) => Array.isArray(value) && Array.from(value).every((each) => entry.accepts(each)),
    ),
    secret: entry.secret,
  };
}

/** A function; its type is named by the caller. */
export function func<T extends (...args: never[]) => unknown>(): Kind<T> {
  return kind("a function", (value) => typeof value === "function");
}

/** An object that has all the listed methods; its type is named by the caller. */
export function objectWith<T extends object>(what: string, ...methods: (keyof T & string)[]): Kind<T> {
  return kind(
    methods.length === 0 ? what : `${what} (an object with ${methods.map((name) => `${name}()`).join(", ")})`,
    (value) =>
      ((typeof value === "object" && value !== null) || typeof value === "function") &&
      methods.every((name) => typeof (value as Record<string, unknown>)[name] === "function"),
  );
}

/** Either of two kinds; secret when one of them is. */
export function either<A, B>(a: Kind<A>, b: Kind<B>): Kind<A | B> {
  return {
    ...kind<A | B>(`${a.expects}, or ${b.expects}`, (value) => a.accepts(value) || b.accepts(value)),
    secret: a.secret === true || b.secret === true,
  };
}

/** The same kind, whose value never appears in an error message. */
export function secret<K extends Kind<unknown>>(inner: K): K {
  return { ...inner, secret: true };
}

/** May be left out; the result is then undefined. */
export function optional<T>(inner: Kind<T>): OptionalKind<T, undefined> {
  return { ...inner, optional: true, fallback: undefined };
}

/** May be left out; the result is then `fallback`. */
export function withDefault<T>(inner: Kind<T>, fallback: T): OptionalKind<T, T> {
  return { ...inner, optional: true, fallback };
}
