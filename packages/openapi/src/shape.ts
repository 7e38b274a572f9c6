import { isDeepStrictEqual } from "node:util";
import type { JsonSchema } from "./schema.ts";

/** What a JSON Schema says about a value: its own members, those of its reference, and those of its branches. */
export interface Shape {
  /** The types that are allowed; empty if the schema does not restrict them. Constants that are strings have no type. */
  readonly types: ReadonlySet<unknown>;
  /** The constants that are strings. */
  readonly texts: ReadonlySet<unknown>;
  /** The members of an object, by name. */
  readonly properties: ReadonlyMap<string, JsonSchema>;
  readonly required: ReadonlySet<unknown>;
  /** The schema of the other members of an object. */
  readonly additional: JsonSchema | undefined;
  /** The schemas of the first elements of a list. */
  readonly prefix: readonly JsonSchema[];
  /** The schema of the other elements of a list. */
  readonly items: JsonSchema | undefined;
}

/** Returns the target of a reference (`$ref`); undefined if it has none. */
export type Resolve = (reference: string) => unknown;

/** Returns a function that finds the targets of references within a JSON Schema, such as `#/$defs/Pen`. */
export function resolverOf(root: JsonSchema): Resolve {
  return (reference) => {
    if (!reference.startsWith("#")) return undefined;
    let target: unknown = root;
    for (const step of reference.split("/").slice(1)) {
      const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof target !== "object" || target === null || !Object.hasOwn(target, name)) return undefined;
      target = (target as JsonSchema)[name];
    }
    return target;
  };
}

/**
 * Returns the shape of a schema.
 *
 * @param within the schemas that contain this one; a schema that contains itself adds nothing
 */
export function shapeOf(schema: JsonSchema, resolve: Resolve, within: readonly JsonSchema[] = []): Shape {
  const { $ref, allOf, anyOf, oneOf } = schema;
  const path = [...within, schema];
  const shapes = (list: unknown): readonly Shape[] =>
    listOf(list)
      .filter((each) => isSchema(each) && !path.includes(each))
      .map((each) => shapeOf(each as JsonSchema, resolve, path));
  const branches = [anyOf, oneOf].map(shapes).filter(({ length }) => length > 0);
  return combined("allOf", [
    ownShape(schema),
    ...shapes(typeof $ref === "string" ? [resolve($ref)] : []),
    ...shapes(allOf),
    ...branches.map((each) => combined("anyOf", each)),
  ]);
}

/** Returns the shape of a schema without its reference and its branches. */
function ownShape(schema: JsonSchema): Shape {
  const { type, const: constant, enum: values, properties, required, additionalProperties } = schema;
  const constants = [constant, ...listOf(values)].filter((value) => value !== undefined);
  const texts = constants.filter((value) => typeof value === "string");
  const types = constants.length === 0 ? [type].flat() : constants.map((value) => typeof value);
  const members = Object.entries(isSchema(properties) ? properties : {});
  return {
    types: new Set(types.filter((each) => each !== undefined && (each !== "string" || texts.length === 0))),
    texts: new Set(texts),
    properties: new Map(members.map(([name, each]) => [name, isSchema(each) ? each : {}])),
    required: new Set(listOf(required)),
    additional: isSchema(additionalProperties) ? additionalProperties : undefined,
    prefix: listOf(schema["prefixItems"]).map((each) => (isSchema(each) ? each : {})),
    items: isSchema(schema["items"]) ? schema["items"] : undefined,
  };
}

/** Combines the shapes of schemas that a value satisfies all (`allOf`), or at least one of them (`anyOf`). */
function combined(kind: "allOf" | "anyOf", shapes: readonly Shape[]): Shape {
  const [first] = shapes;
  if (first !== undefined && shapes.length === 1) return first;
  const isAll = kind === "allOf";
  const names = new Set(shapes.flatMap(({ properties }) => [...properties.keys()]));
  const longest = Math.max(0, ...shapes.map(({ prefix }) => prefix.length));
  const one = (schemas: readonly (JsonSchema | undefined)[]): JsonSchema | undefined => {
    const given = schemas.filter((each) => each !== undefined);
    const distinct = given.filter((each, at) => given.findIndex((a) => isDeepStrictEqual(a, each)) === at);
    return distinct.length > 1 ? { [kind]: distinct } : distinct[0];
  };
  return {
    types: isAll ? shapes.map(({ types }) => types).reduce(typesOfBoth) : union(shapes, "types"),
    texts: union(shapes, "texts"),
    properties: new Map(
      [...names].map((name) => [name, one(shapes.map(({ properties }) => properties.get(name))) ?? {}]),
    ),
    required: isAll
      ? union(shapes, "required")
      : new Set(
          [...(first?.required ?? [])].filter((name) => shapes.every((each) => each.required.has(name))),
        ),
    additional: one(shapes.map(({ additional }) => additional)),
    prefix: Array.from(
      { length: longest },
      (_, at) => one(shapes.map(({ prefix, items }) => prefix[at] ?? items)) ?? {},
    ),
    items: one(shapes.map(({ items }) => items)),
  };
}

function union(shapes: readonly Shape[], member: "types" | "texts" | "required"): ReadonlySet<unknown> {
  return new Set(shapes.flatMap((shape) => [...shape[member]]));
}

function typesOfBoth(a: ReadonlySet<unknown>, b: ReadonlySet<unknown>): ReadonlySet<unknown> {
  if (a.size === 0 || b.size === 0) return a.size === 0 ? b : a;
  // Every integer is a number.
  const allows = (types: ReadonlySet<unknown>, type: unknown): boolean =>
    types.has(type) || (type === "integer" && types.has("number"));
  return new Set([...[...a].filter((each) => allows(b, each)), ...[...b].filter((each) => allows(a, each))]);
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}
