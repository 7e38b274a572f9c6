import { ConfigurationError, type Fault } from "./configuration-error.ts";
import type { Kind, OptionalKind } from "./kinds.ts";
import { meantNames } from "./meant.ts";
import { type Names, namesOf } from "./names.ts";
import { describe, show } from "./show.ts";

/** The kind of each option, by name. */
export type Kinds = Readonly<Record<string, Kind<unknown> | OptionalKind<unknown, unknown>>>;

/** The type of the options after the defaults are filled in. */
export type Resolved<K extends Kinds> = {
  readonly [N in keyof K]: K[N] extends OptionalKind<infer T, infer D>
    ? T | D
    : K[N] extends Kind<infer T>
      ? T
      : never;
};

/**
 * Checks the options of a factory, fills in the defaults and returns a new frozen object with every option present.
 *
 * @param subject the factory call as it appears in error messages, for example `jsonBody()`
 * @param given the options that the user passed; undefined counts as `{}`, an undefined member as omitted
 * @param kinds the kind of each option
 * @param names the names of the options in error messages. Default: those that `withNames()` has attached, else their names
 * @throws ConfigurationError that lists all unknown and invalid options
 */
export function resolveOptions<const K extends Kinds>(
  subject: string,
  given: object | undefined,
  kinds: K,
  names?: Names,
): Resolved<K> {
  const source = given ?? {};
  const misused = given === undefined ? undefined : misuse(subject, given);
  if (misused !== undefined) throw new ConfigurationError(subject, [{ key: "options", message: misused }]);
  const { of, subject: named } = names ?? namesOf(given, subject);
  const resolved: Record<string, unknown> = {};
  const wrong: Fault[] = [];
  const valid: string[] = [];
  for (const [name, kind] of Object.entries(kinds)) {
    const taken = take(source, name, kind);
    if ("fault" in taken) {
      wrong.push({ key: of(name), message: taken.fault });
      continue;
    }
    resolved[name] = taken.value;
    if (taken.isGiven) valid.push(name);
  }
  const known = Object.keys(kinds);
  const unknown = Object.keys(source)
    .filter((name) => !Object.hasOwn(kinds, name))
    .map((name): Fault => {
      const places = placesOf(name, kinds).map((option) => `${of(option)}.${name}`);
      const message = places.length > 0 ? didYouMean(places) : unknownOption(name, known, valid);
      return { key: of(name), message };
    });
  const faults = [...unknown, ...wrong];
  if (faults.length > 0) throw new ConfigurationError(named, faults);
  return Object.freeze(resolved) as Resolved<K>;
}

/** Returns the error text for a value of the wrong kind, without the value when the kind is secret. */
export function wrongValue(kind: Kind<unknown>, value: unknown): string {
  const hint = kind.hint?.(value);
  const shown = kind.secret === true ? " (the value is not shown)" : `; it is ${show(value)}`;
  return `must be ${kind.expects}${shown}${hint === undefined ? "" : `; ${hint}`}`;
}

/**
 * Returns the error text for an unknown name, with the names that were probably meant or else the list of known names. A
 * name was probably meant if it is spelled almost alike, or differs only in its unit, in a synonym or in additional words.
 *
 * @param given names that already have a valid value: only a misspelt name probably stands for one of them. Default: none
 */
export function unknownOption(name: string, known: readonly string[], given: readonly string[] = []): string {
  const meant = meantNames(name, known, given);
  if (meant.length > 0) return didYouMean(meant);
  return known.length === 0
    ? "is unknown; no names are allowed"
    : `is unknown; expected one of ${known.join(", ")}`;
}

function didYouMean(names: readonly string[]): string {
  const [last, ...others] = names.toReversed();
  const any = others.length === 0 ? `${last}` : `${others.toReversed().join(", ")} or ${last}`;
  return `is unknown; did you mean ${any}?`;
}

/** Returns the options whose value has a member of this name. */
function placesOf(name: string, kinds: Kinds): readonly string[] {
  return Object.keys(kinds).filter((option) => kinds[option]?.members?.includes(name));
}

type Taken = { value: unknown; isGiven: boolean } | { fault: string };

function take(source: object, name: string, kind: Kind<unknown>): Taken {
  let value: unknown;
  try {
    value = holds(source, name) ? (source as Readonly<Record<string, unknown>>)[name] : undefined;
    if (value !== undefined && kind.accepts(value)) return { value, isGiven: true };
  } catch (error) {
    // A getter threw; its message may contain a secret, so only the error's name is shown.
    return {
      fault: `cannot be read: ${error instanceof Error ? error.name : "its getter threw a value that is not an Error"}`,
    };
  }
  if (value !== undefined) return { fault: wrongValue(kind, value) };
  return isOptional(kind)
    ? { value: kind.fallback, isGiven: false }
    : { fault: `is required and must be ${kind.expects}` };
}

/**
 * Returns whether an object or its class has a member. Members of Object.prototype do not count, because it may be
 * polluted.
 */
function holds(source: object, name: string): boolean {
  if (Object.hasOwn(source, name)) return true;
  for (let each = parentOf(source); each !== null; each = parentOf(each)) {
    if (parentOf(each) !== null && Object.hasOwn(each, name)) return true;
  }
  return false;
}

function parentOf(value: object): object | null {
  return Object.getPrototypeOf(value) as object | null;
}

function isOptional(kind: Kind<unknown>): kind is OptionalKind<unknown, unknown> {
  return "optional" in kind;
}

/** Returns whether a value can hold options: an object of a class or of none, but not a promise, a Map or a function. */
export function isOptionsObject(value: unknown): value is object {
  return misuse("", value) === undefined;
}

// JavaScript callers can pass any value. The message never shows the value: a string passed instead of options may be a
// secret.
function misuse(subject: string, given: unknown): string | undefined {
  if (typeof given !== "object" || given === null) return `must be an object; it is ${describe(given)}`;
  if ("headers" in given && "method" in given && "socket" in given) {
    return `is a request; write app.use(${subject}), with parentheses`;
  }
  if (given instanceof Promise) return "is a promise: await it first";
  // A Map or a Date has no own members and would pass as empty options; a module namespace is accepted.
  const tag = Object.prototype.toString.call(given);
  if (tag === "[object Object]" || tag === "[object Module]") return undefined;
  return `must be an object; it is ${describe(given)}`;
}
