import { type Direction, type JsonSchema, jsonSchemaOf, type Schema } from "./schema.ts";

/** The schemas of a document that have a name. */
export interface Components {
  /**
   * Returns the schema for the document. Named schemas (`id`) and the definitions of a library become components, and the
   * result refers to them.
   *
   * @param hint the name of the component if the schema refers to itself without having a name
   */
  add(schema: Schema, direction: Direction, hint: string): JsonSchema;
  /** Returns the schema of an object, with a reference to it resolved. */
  members(schema: Schema): JsonSchema;
  /** Returns the components added so far, sorted by name. */
  all(): Readonly<Record<string, JsonSchema>>;
}

const PREFIX = "#/components/schemas/";

export function createComponents(): Components {
  const components = new Map<string, JsonSchema>();
  const texts = new Map<string, string>();
  /** Schemas that were already added, because several routes may use the same one. */
  const known = new WeakMap<object, Map<Direction, JsonSchema>>();

  /**
   * Adds a component under the preferred name, or under another name if a different schema already has that
   * name.
   */
  function named(wanted: string, direction: Direction, build: (name: string) => JsonSchema): string {
    const base = wanted.replaceAll(/[^\w.-]/g, "_");
    for (let attempt = 0; ; attempt++) {
      const name =
        attempt === 0
          ? base
          : direction === "output" && attempt === 1
            ? `${base}Output`
            : `${base}${attempt + 1}`;
      const schema = build(name);
      const text = JSON.stringify(schema);
      const before = texts.get(name);
      if (before !== undefined && before !== text) continue;
      texts.set(name, text);
      components.set(name, schema);
      return name;
    }
  }

  function convert(schema: Schema, direction: Direction, hint: string): JsonSchema {
    const { $schema: _, $defs = {}, ...root } = jsonSchemaOf(schema, direction);
    const names = new Map<string, string>();
    const definitions = Object.entries($defs as Readonly<Record<string, JsonSchema>>);
    for (const [definition] of definitions) names.set(`#/$defs/${definition}`, definition);
    for (const [definition, each] of definitions) {
      const name = named(definition, direction, (own) =>
        withReferences(each, new Map(names).set(`#/$defs/${definition}`, own)),
      );
      names.set(`#/$defs/${definition}`, name);
    }
    if (!refersToItself(root)) return withReferences(root, names);
    const name = named(hint, direction, (own) => withReferences(root, new Map(names).set("#", own)));
    return { $ref: PREFIX + name };
  }

  function add(schema: Schema, direction: Direction, hint: string): JsonSchema {
    const before = known.get(schema)?.get(direction);
    if (before !== undefined) return before;
    const converted = convert(schema, direction, hint);
    known.set(schema, (known.get(schema) ?? new Map<Direction, JsonSchema>()).set(direction, converted));
    return converted;
  }

  return {
    add,
    members(schema) {
      const { $ref, ...own } = jsonSchemaOf(schema, "input");
      if ($ref === undefined && own["$defs"] === undefined) return own;
      const converted = add(schema, "input", "Parameters");
      const { $ref: reference } = converted;
      return typeof reference === "string"
        ? (components.get(reference.slice(PREFIX.length)) ?? {})
        : converted;
    },
    all: () => Object.fromEntries([...components].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}

// Libraries write JSON Schemas as trees. The limit stops at a hand-written schema that contains a cycle.
const MAX_DEPTH = 100;

/** Returns a copy whose references to definitions are references to components. */
function withReferences(schema: JsonSchema, names: ReadonlyMap<string, string>): JsonSchema {
  return copy(schema, 0) as JsonSchema;

  function copy(value: unknown, depth: number): unknown {
    if (typeof value !== "object" || value === null) return value;
    if (depth > MAX_DEPTH) throw new TypeError("a JSON Schema is nested more than 100 levels deep");
    if (Array.isArray(value)) return value.map((each: unknown) => copy(each, depth + 1));
    return Object.fromEntries(
      Object.entries(value)
        .filter(([member]) => depth === 0 || member !== "$schema")
        .map(([member, each]) => [member, member === "$ref" ? reference(each) : copy(each, depth + 1)]),
    );
  }

  function reference(target: unknown): unknown {
    const name = names.get(String(target));
    return name === undefined ? target : PREFIX + name;
  }
}

function refersToItself(schema: JsonSchema): boolean {
  return JSON.stringify(schema).includes('"$ref":"#"');
}
