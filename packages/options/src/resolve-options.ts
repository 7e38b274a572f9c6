import { ConfigurationError, type Fault } from "./configuration-error.ts";
import type { Kind, OptionalKind } from "./kinds.ts";
import { nearestName } from "./nearest.ts";

/** For every option its kind. */
export type Kinds = Readonly<Record<string, Kind<unknown> | OptionalKind<unknown, unknown>>>;

/** What is left after defaults have been filled in. */
export type Resolved<K extends Kinds> = {
  readonly [N in keyof K]: K[N] extends OptionalKind<infer T, infer D>
    ? T | D
    : K[N] extends Kind<infer T>
      ? T
      : never;
};

/**
 * Checks the options of a factory and fills in the defaults, into a new object with every option present.
 *
 * @param subject the factory as its user writes it, for example `jsonBody()`
 * @param given what the user passed; undefined counts as `{}`, an undefined member as left out
 * @param kinds what each option may be
 * @throws ConfigurationError listing every unknown and every wrong option
 */
export function resolveOptions<const K extends Kinds>(
  subject: string,
  given: object | undefined,
  kinds: K,
): Resolved<K> {
  if (given !== undefined && (typeof given !== "object" || given === null || isRequest(given))) {
    throw new ConfigurationError(subject, [{ key: "options", message: misuse(subject, given) }]);
  }
  const source = (given ?? {}) as Readonly<Record<string, unknown>>;
  const faults: Fault[] = [];
  for (const name of Object.keys(source)) {
    if (!Object.hasOwn(kinds, name))
      faults.push({ key: name, message: unknownOption(name, Object.keys(kinds)) });
  }
  const resolved: Record<string, unknown> = {};
  for (const [name, kind] of Object.entries(kinds)) {
    const value = source[name];
    if (value === undefined) {
      if (isOptional(kind)) resolved[name] = kind.fallback;
      else faults.push({ key: name, message: `is required and must be ${kind.expects}` });
    } else if (kind.accepts(value)) {
      resolved[name] = value;
    } else {
      faults.push({ key: name, message: wrongValue(kind, value) });
    }
  }
  if (faults.length > 0) throw new ConfigurationError(subject, faults);
  return resolved as Resolved<K>;
}

/** The sentence for a value that is not of its kind; a secret value is not shown. */
export function wrongValue(kind: Kind<unknown>, value: unknown): string {
  return `must be ${kind.expects}; it is ${kind.secret === true ? "not (the value is not shown)" : show(value)}`;
}

/** The sentence for a name that nobody knows, with the nearest one that is known. */
export function unknownOption(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  if (nearest !== undefined) return `is unknown; did you mean ${nearest}?`;
  return known.length === 0 ? "is unknown; there are none" : `is unknown; known are ${known.join(", ")}`;
}

function isOptional(kind: Kind<unknown>): kind is OptionalKind<unknown, unknown> {
  return "optional" in kind;
}

// app.use(requestId) instead of app.use(requestId()) hands a request over as the options.
function isRequest(given: object): boolean {
  return "headers" in given && "method" in given && "socket" in given;
}

function misuse(subject: string, given: unknown): string {
  if (typeof given === "object" && given !== null) {
    return `is a request: call the factory, app.use(${subject}), instead of passing it to app.use`;
  }
  return `must be an object; it is ${show(given)}`;
}

/** A value on one short line, for an error message. */
function show(value: unknown): string {
  if (typeof value === "function") return "a function";
  if (typeof value === "bigint" || typeof value === "symbol") return String(value);
  let text: string | undefined;
  try {
    text = JSON.stringify(value);
  } catch {
    text = undefined;
  }
  text ??= String(value);
  if (Number.isNaN(value) || value === Infinity || value === -Infinity) text = String(value);
  return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}
