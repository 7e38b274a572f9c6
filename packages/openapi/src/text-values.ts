import { type JsonSchema, jsonSchemaOf, propertiesOf, type Schema } from "./schema.ts";

/** Values of a query or of headers, by name: a string, or the list of strings of a repeated name. */
export type TextValues = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Converts the strings of a path, a query or headers into the values that a schema expects. */
export type TextReader = (values: TextValues) => Record<string, unknown>;

type Convert = (value: string | readonly string[]) => unknown;

const keepText: Convert = (value) => value;

/**
 * Returns the function that converts strings for a schema: `"12"` becomes 12 if the schema has a number,
 * `"true"` becomes true, a single value becomes a list if the schema has a list. Strings that cannot be
 * converted stay unchanged, and the schema rejects them. Values without a type in the schema stay strings.
 */
export function textReader(schema: Schema): TextReader {
  const convert = new Map(
    Object.entries(propertiesOf(jsonSchemaOf(schema, "input"))).map(([name, each]) => [
      name,
      converterOf(each),
    ]),
  );
  return (values) => {
    // The object has no prototype, so a parameter named `__proto__` is an ordinary member.
    const read = Object.create(null) as Record<string, unknown>;
    for (const name of Object.keys(values)) {
      const value = values[name];
      if (value !== undefined) read[name] = (convert.get(name) ?? keepText)(value);
    }
    return read;
  };
}

function converterOf(schema: JsonSchema): Convert {
  const types = typesOf(schema);
  if (types.has("array")) {
    const items = converterOf((schema["items"] ?? {}) as JsonSchema);
    return (value) => (typeof value === "string" ? [value] : value).map(items);
  }
  const isNumber = types.has("number") || types.has("integer");
  if (types.has("string") || !(isNumber || types.has("boolean"))) return keepText;
  return (value) => {
    if (typeof value !== "string") return value;
    if (types.has("number") ? NUMBER.test(value) : isNumber && WHOLE.test(value)) return Number(value);
    if (types.has("boolean") && (value === "true" || value === "false")) return value === "true";
    return value;
  };
}

const WHOLE = /^-?(?:0|[1-9]\d{0,15})$/;
// Accept only JSON numbers, because "0x10", "1e999" and "" are numbers only in JavaScript.
const NUMBER = /^-?(?:0|[1-9]\d{0,30})(?:\.\d{1,30})?(?:[eE][+-]?\d{1,2})?$/;

/** Returns the types of a schema; none for constants that are strings, which need no conversion. */
function typesOf(schema: JsonSchema): ReadonlySet<unknown> {
  const { type, anyOf, oneOf, enum: values, const: constant } = schema;
  const constants = [constant, ...(Array.isArray(values) ? (values as unknown[]) : [])].filter(
    (value) => value !== undefined,
  );
  const own = constants.length > 0 ? constants.map(typeOfConstant) : Array.isArray(type) ? type : [type];
  const branches = [anyOf, oneOf].flatMap((list) => (Array.isArray(list) ? (list as JsonSchema[]) : []));
  return new Set<unknown>([...own, ...branches.flatMap((each) => [...typesOf(each)])]);
}

function typeOfConstant(value: unknown): string | undefined {
  return typeof value === "string" ? undefined : typeof value;
}
