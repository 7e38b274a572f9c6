import { environmentHint, type EnvironmentName, environmentNames } from "./environment-names.ts";

export { isHttpOrigin, isServerUrl } from "./urls.ts";

/**
 * Describes which values one option accepts. `expects` completes the sentence "must be ..."; `accepts` is never called
 * with undefined.
 */
export interface Kind<T> {
  readonly expects: string;
  accepts(value: unknown): value is T;
  /** Set for values that must not be shown in an error message. */
  readonly secret?: boolean | undefined;
  /** Returns a remedy for a rejected value, such as `did you mean "prod"?`; must not repeat the value. Default: none. */
  readonly hint?: ((value: unknown) => string | undefined) | undefined;
  /** The JSON Schema of the values in a configuration file, for editors. Default: none; any value is valid. */
  readonly schema?: JsonSchema | undefined;
  /** Names of members of the value. The error for an unknown option with such a name says where it belongs. Default: none. */
  readonly members?: readonly string[] | undefined;
}

/** A JSON Schema without references to other schemas. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A kind for an option that may be omitted; `fallback` is then its value. */
export interface OptionalKind<T, D> extends Kind<T> {
  readonly optional: true;
  readonly fallback: D;
}

/** The longest delay of a timer, in milliseconds. */
export const LONGEST_MS: number = 2 ** 31 - 1;

function kind<T>(expects: string, accepts: (value: unknown) => boolean, schema?: JsonSchema): Kind<T> {
  return { expects, accepts: accepts as (value: unknown) => value is T, schema };
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

/** Returns a kind for whole numbers. */
export function integer({ min, max }: Bounds = {}): Kind<number> {
  return kind(
    `a whole number${range(min, max)}`,
    (value) => Number.isSafeInteger(value) && within(value as number, min, max),
    { type: "integer", minimum: min, maximum: max },
  );
}

/** Returns a kind for finite numbers. */
export function number({ min, max }: Bounds = {}): Kind<number> {
  return kind(
    `a number${range(min, max)}`,
    (value) => Number.isFinite(value) && within(value as number, min, max),
    { type: "number", minimum: min, maximum: max },
  );
}

function within(value: number, min = -Infinity, max = Infinity): boolean {
  return value >= min && value <= max;
}

/** Returns a kind for true and false. */
export function boolean(): Kind<boolean> {
  return kind("true or false", (value) => typeof value === "boolean", { type: "boolean" });
}

/**
 * Bytes, such as a Buffer. This named type keeps the type parameter of `Uint8Array`, which TypeScript before 5.7 rejects, out
 * of declaration files.
 */
export interface Bytes extends Uint8Array {}

/** Returns a kind for bytes, such as a Buffer. */
export function bytes(): Kind<Bytes> {
  return kind("bytes", (value) => value instanceof Uint8Array);
}

/** Returns a kind for non-empty strings; with `allowEmpty`, for any string. */
export function string({ allowEmpty = false, pattern, expects }: StringRules = {}): Kind<string> {
  const shape = pattern === undefined ? "" : ` that matches ${String(pattern)}`;
  const text = expects ?? (allowEmpty || shape !== "" ? `a string${shape}` : "a non-empty string");
  return kind(
    text,
    (value) =>
      typeof value === "string" &&
      (allowEmpty || value !== "") &&
      // With the flag g, test() starts where its last match ended; search() always starts at 0.
      (pattern === undefined || value.search(pattern) !== -1),
    { type: "string", minLength: allowEmpty ? undefined : 1, pattern: plainSource(pattern) },
  );
}

/**
 * Returns the source of a pattern for editors; undefined if it uses flags or lookarounds that editors may not support.
 */
function plainSource(pattern: RegExp | undefined): string | undefined {
  if (pattern === undefined || /[^u]/.test(pattern.flags) || /\(\?[=!<]/.test(pattern.source))
    return undefined;
  return pattern.source.replaceAll("\\/", "/");
}

/** Rules for a string option. */
export interface StringRules {
  /** Default false. */
  readonly allowEmpty?: boolean | undefined;
  /** Default: any string. */
  readonly pattern?: RegExp | undefined;
  /** Completes "must be ..."; use it where the pattern is hard to read. Default: derived from the other rules. */
  readonly expects?: string | undefined;
}

/** Returns a kind for one of the listed values. */
export function oneOf<const T extends readonly (string | number | boolean)[]>(...values: T): Kind<T[number]> {
  const shown = values.map((value) => JSON.stringify(value)).join(", ");
  return kind(`one of ${shown}`, (value) => (values as readonly unknown[]).includes(value), { enum: values });
}

/** Returns a kind for lists with entries of one kind; secret when that kind is secret. */
export function listOf<T>(entry: Kind<T>): Kind<readonly T[]> {
  return {
    ...kind<readonly T[]>(
      `a list in which each entry is ${entry.expects}`,
      (value) =>
        Array.isArray(value) && Array.from(value).every((each) => each !== undefined && entry.accepts(each)),
      { type: "array", items: entry.schema },
    ),
    secret: entry.secret,
  };
}

/** Returns a kind for functions; the type argument is their type. */
export function func<T extends (...args: never[]) => unknown>(): Kind<T> {
  return kind("a function", (value) => typeof value === "function");
}

/** Returns a kind for instances of a class. */
export function instanceOf<T>(type: abstract new (...args: never[]) => T, expects: string): Kind<T> {
  return kind(expects, (value) => value instanceof type);
}

/**
 * Returns a kind for an object or function with all the listed methods; the type argument is its type. For an object with only
 * some of them, the error names the others.
 */
export function objectWith<T extends object>(what: string, ...methods: (keyof T & string)[]): Kind<T> {
  const calls = (names: readonly string[]): string => names.map((name) => `${name}()`).join(", ");
  return {
    ...kind<T>(
      methods.length === 0 ? what : `${what} (an object with ${calls(methods)})`,
      (value) => isObject(value) && methods.every((name) => isMethod(value, name)),
    ),
    hint(value) {
      if (!isObject(value)) return undefined;
      try {
        const missing = methods.filter((name) => !isMethod(value, name));
        return missing.length < methods.length ? `it has no ${calls(missing)}` : undefined;
      } catch {
        // A getter threw.
        return undefined;
      }
    },
  };
}

function isObject(value: unknown): value is object {
  return (typeof value === "object" && value !== null) || typeof value === "function";
}

function isMethod(value: object, name: string): boolean {
  return typeof (value as Record<string, unknown>)[name] === "function";
}

/** Returns a kind for values of either of two kinds; secret when one of them is secret. */
export function either<A, B>(a: Kind<A>, b: Kind<B>): Kind<A | B> {
  const schema = a.schema && b.schema && { anyOf: [a.schema, b.schema] };
  return {
    ...kind<A | B>(`${a.expects}, or ${b.expects}`, (value) => a.accepts(value) || b.accepts(value), schema),
    secret: a.secret === true || b.secret === true,
    members: [...(a.members ?? []), ...(b.members ?? [])],
  };
}

/** A clock in milliseconds since the Unix epoch. Default: `Date.now`. */
export const wallClock: OptionalKind<() => number, () => number> = withDefault(func<() => number>(), () =>
  Date.now(),
);

/** A monotonic clock in milliseconds. Default: `performance.now`. */
export const monotonicClock: OptionalKind<() => number, () => number> = withDefault(
  func<() => number>(),
  () => performance.now(),
);

/** A function that fetches. Default: the global `fetch`, looked up at each call, because it may be replaced later. */
export const fetchKind: OptionalKind<typeof fetch, typeof fetch> = withDefault(
  func<typeof fetch>(),
  (input, init) => globalThis.fetch(input, init),
);

/** The environment that a service runs in. */
export const environmentName: Kind<EnvironmentName> = {
  ...oneOf(...environmentNames),
  hint: environmentHint,
};

/** The environment that a service runs in. Default: `prod`, whose rules are the strictest. */
export const environmentKind: OptionalKind<EnvironmentName, EnvironmentName> = withDefault(
  environmentName,
  "prod",
);

/** A timer delay in milliseconds, at least 1. */
export const milliseconds: Kind<number> = number({ min: 1, max: LONGEST_MS });

/** The name of a readiness check, also used in log messages. */
export const checkName: Kind<string> = string({
  pattern: /^[A-Za-z0-9][\w.:-]{0,63}$/,
  expects: "1 to 64 letters, digits or _ . : -",
});

/** Marks a kind as secret: no error message shows its value. */
export function secret<K extends Kind<unknown>>(inner: K): K {
  return { ...inner, secret: true };
}

/** Makes an option optional; if omitted, its value is undefined. */
export function optional<T>(inner: Kind<T>): OptionalKind<T, undefined> {
  return { ...inner, optional: true, fallback: undefined };
}

/** Makes an option optional; if omitted, its value is `fallback`. */
export function withDefault<T>(inner: Kind<T>, fallback: T): OptionalKind<T, T> {
  return { ...inner, optional: true, fallback };
}
