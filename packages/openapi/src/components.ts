import { keysOf, referencesIn } from "./definitions.ts";
import { type Direction, type JsonSchema, jsonSchemaOf, type Schema } from "./schema.ts";
import { type Shape, shapeOf } from "./shape.ts";

/** The schemas of a document that have a name. */
export interface Components {
  /**
   * Returns the schema for the document. Named schemas (`id`) and the definitions of a library become components, and the
   * result refers to them.
   *
   * @param hint the name of the component if the schema refers to itself without having a name
   */
  add(schema: Schema, direction: Direction, hint: string): JsonSchema;
  /** Returns the shape of a schema; the schemas in it refer to components. */
  shapeOf(schema: Schema): Shape;
  /** Returns the components added so far, sorted by name. */
  all(): Readonly<Record<string, JsonSchema>>;
}

const PREFIX = "#/components/schemas/";

/** @param initial components that keep their names */
export function createComponents(initial: Readonly<Record<string, JsonSchema>>): Components {
  const components = new Map(Object.entries(initial));
  /** The names of the components, by key. */
  const names = new Map<string, string>();
  for (const [reference, key] of keysOf(definitionsOf(initial))) names.set(key, nameIn(reference));
  const taken = new Set(names.values());
  /** Schemas that were already added, because several routes may use the same one. */
  const known = new WeakMap<object, Map<Direction, JsonSchema>>();

  /** Returns the name of a component: the preferred one, or another one if a different component already has that name. */
  function nameFor(wanted: string, direction: Direction, key: string): string {
    const base = wanted.replaceAll(/[^\w.-]/g, "_");
    let name = names.get(key) ?? base;
    for (let attempt = 2; !names.has(key) && taken.has(name); attempt++)
      name = direction === "output" && attempt === 2 ? `${base}Output` : `${base}${attempt}`;
    names.set(key, name);
    taken.add(name);
    return name;
  }

  function convert(schema: Schema, direction: Direction, hint: string): JsonSchema {
    const { $schema: _, $defs = {}, ...root } = jsonSchemaOf(schema, direction);
    const definitions = definitionsOf($defs as Readonly<Record<string, JsonSchema>>);
    if (referencesIn(JSON.stringify([root, $defs])).includes(ROOT)) definitions.set(ROOT, root);
    // Name all components before the references are written, because a definition may refer to a later one.
    const targets = new Map(
      [...keysOf(definitions)].map(([reference, key]) => [
        reference,
        nameFor(reference === ROOT ? hint : nameIn(reference), direction, key),
      ]),
    );
    for (const [reference, each] of definitions)
      components.set(targets.get(reference) ?? "", withReferences(each, targets));
    return withReferences(definitions.has(ROOT) ? { $ref: ROOT } : root, targets);
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
    shapeOf: (schema) =>
      shapeOf(add(schema, "input", "Parameters"), (reference) =>
        reference.startsWith(PREFIX) ? components.get(reference.slice(PREFIX.length)) : undefined,
      ),
    all: () => Object.fromEntries([...components].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** The reference of a schema without a name to itself. */
const ROOT = "#";
const DEFINITIONS = "#/$defs/";

/** Returns definitions by reference. */
function definitionsOf(definitions: Readonly<Record<string, JsonSchema>>): Map<string, JsonSchema> {
  return new Map(
    Object.entries(definitions).map(([name, schema]) => [
      DEFINITIONS + name.replaceAll("~", "~0").replaceAll("/", "~1"),
      schema,
    ]),
  );
}

/** Returns the name of the definition to which a reference refers. */
function nameIn(reference: string): string {
  return reference.slice(DEFINITIONS.length).replaceAll("~1", "/").replaceAll("~0", "~");
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
