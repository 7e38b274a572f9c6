import type { Kind } from "@svc/options";

/** Environment variables by name, as in `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>;

/** Returns the value of a variable; undefined when it is not set or empty. */
export function variable(env: Environment, name: string): string | undefined {
  const text = env[name];
  // Inherited members, such as `__proto__`, are not strings.
  return typeof text === "string" && text !== "" ? text : undefined;
}

/**
 * Converts a string to the kind: the string itself; a decimal number; true, false, yes, no, on, off, 1 or 0 in upper or
 * lower case; a list as a JSON array or as words separated by commas or spaces. Returns undefined if no conversion fits
 * the kind.
 */
export function readText<T>(kind: Kind<T>, text: string): { readonly value: T } | undefined {
  for (const candidate of readings(text)) {
    if (kind.accepts(candidate)) return { value: candidate };
  }
  return undefined;
}

function* readings(text: string): Generator<unknown> {
  const isJson = text.startsWith("[");
  if (isJson) yield jsonArray(text);
  yield text;
  if (decimal.test(text)) yield Number(text);
  const word = text.toLowerCase();
  if (truths.includes(word)) yield true;
  if (falsehoods.includes(word)) yield false;
  const words = text.split(/[\s,]+/).filter((each) => each !== "");
  // A broken JSON array is a fault, not a list of words.
  if (isJson || words.length === 0) return;
  yield words;
  if (words.every((each) => decimal.test(each))) yield words.map(Number);
}

const decimal = /^-?(0|[1-9]\d*)(\.\d+)?$/;
const truths = ["true", "1", "yes", "on"];
const falsehoods = ["false", "0", "no", "off"];

function jsonArray(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the process's environment, for code that runs before the configuration is read. */
export function processEnvironment(): Environment {
  return process.env;
}
