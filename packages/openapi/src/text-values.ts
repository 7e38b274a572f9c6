import { type JsonSchema, jsonSchemaOf, type Schema } from "./schema.ts";
import { type Resolve, resolverOf, shapeOf } from "./shape.ts";

/** Values of a query or of headers, by name: a string, or the list of strings of a repeated name. */
export type TextValues = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Converts the strings of a path, a query or headers into the values that a schema expects. */
export type TextReader = (values: TextValues) => Record<string, unknown>;

type Convert = (value: string | readonly string[]) => unknown;

const keepText: Convert = (value) => value;

/**
 * Returns the function that converts strings for a schema: `"12"` becomes 12 if the schema has a number,
 * `"true"` becomes true, a single value becomes a list if the schema accepts only a list. Strings that cannot be
 * converted stay unchanged, and the schema rejects them. Values without a type in the schema stay strings.
 */
export function textReader(schema: Schema): TextReader {
  const root = jsonSchemaOf(schema, "input");
  const resolve = resolverOf(root);
  const { properties, additional = {} } = shapeOf(root, resolve);
  const convert = new Map([...properties].map(([name, each]) => [name, converterOf(each, resolve)]));
  const convertOther = converterOf(additional, resolve);
  return (values) => {
    // The object has no prototype, so a parameter named `__proto__` is an ordinary member.
    const read = Object.create(null) as Record<string, unknown>;
    for (const name of Object.keys(values)) {
      const value = values[name];
      if (value !== undefined) read[name] = (convert.get(name) ?? convertOther)(value);
    }
    return read;
  };
}

/** Maximum depth of lists. A request has only lists of strings, and a list may contain itself. */
const MAX_DEPTH = 4;

function converterOf(schema: JsonSchema, resolve: Resolve, depth = 0): Convert {
  const { types, texts, prefix, items = {} } = shapeOf(schema, resolve);
  const convertOne = singleConverterOf(types);
  if (!types.has("array")) return convertOne;
  if (depth === MAX_DEPTH) return keepText;
  const first = prefix.map((each) => converterOf(each, resolve, depth + 1));
  const convertItem = converterOf(items, resolve, depth + 1);
  const convertList = (values: readonly string[]): unknown =>
    values.map((each, at) => (first[at] ?? convertItem)(each));
  return (value) => {
    if (typeof value !== "string") return convertList(value);
    if (types.has("string") || texts.has(value)) return value;
    const one = convertOne(value);
    return one === value ? convertList([value]) : one;
  };
}

/** Returns the function that converts a string to a number or to a boolean. */
function singleConverterOf(types: ReadonlySet<unknown>): Convert {
  const isNumber = types.has("number");
  const isBoolean = types.has("boolean");
  if (types.has("string") || !(isNumber || isBoolean || types.has("integer"))) return keepText;
  const pattern = isNumber ? NUMBER : types.has("integer") ? WHOLE : undefined;
  return (value) => {
    if (typeof value !== "string") return value;
    if (pattern?.test(value) === true) return Number(value);
    if (isBoolean && (value === "true" || value === "false")) return value === "true";
    return value;
  };
}

const WHOLE = /^-?(?:0|[1-9]\d{0,15})$/;
// Accept only JSON numbers, because "0x10", "1e999" and "" are numbers only in JavaScript.
const NUMBER = /^-?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?(?:[eE][+-]?\d{1,2})?$/;
