import { cut, type Fields, fieldsOf, jsonOf, listOf, numberOf, type Resolve } from "./document-shape.ts";

const LONGEST = 160;
const MAX_DEPTH = 3;
const MAX_ALTERNATIVES = 12;

/** Describes a schema in a few words, for example `integer, 1 to 100`, `list of Expense` or `"open" or "paid"`. */
export function schemaText(schema: unknown, resolve: Resolve, depth = 0): string {
  if (schema === false) return "nothing";
  const { fields, name } = resolve(schema);
  // The name of a component describes an object, but says little about a simple value.
  if (name !== undefined && (isObject(fields) || depth >= MAX_DEPTH)) return cut(name, LONGEST);
  if (depth >= MAX_DEPTH) return "…";
  const inner = (each: unknown): string => schemaText(each, resolve, depth + 1);
  return cut(plainText(fields, inner) || name || "any value", LONGEST);
}

function isObject(fields: Fields): boolean {
  return (
    fields["type"] === "object" || ["properties", "allOf", "oneOf", "anyOf"].some((key) => key in fields)
  );
}

function plainText(fields: Fields, inner: (schema: unknown) => string): string {
  if ("const" in fields) return jsonOf(fields["const"]);
  const values = listOf(fields["enum"]);
  if (values.length > 0) return joined(values, jsonOf, " or ");
  const alternatives = [...listOf(fields["oneOf"]), ...listOf(fields["anyOf"])];
  if (alternatives.length > 0) return joined(alternatives, inner, " or ");
  const all = listOf(fields["allOf"]);
  if (all.length > 0) return joined(all, inner, " and ");
  const texts = typesOf(fields).map((type) => (type === "array" ? listText(fields, inner) : type));
  return [texts.join(" or "), ...details(fields)].filter((text) => text !== "").join(", ");
}

function listText(fields: Fields, inner: (schema: unknown) => string): string {
  return "items" in fields ? `list of ${inner(fields["items"])}` : "list";
}

function joined(values: readonly unknown[], shown: (value: unknown) => string, by: string): string {
  const texts = new Set(values.slice(0, MAX_ALTERNATIVES).map((each) => shown(each)));
  return [...texts].join(by) + (values.length > MAX_ALTERNATIVES ? `${by}…` : "");
}

function details(fields: Fields): readonly string[] {
  return [
    typeof fields["format"] === "string" ? fields["format"] : "",
    rangeText(fields["minimum"], fields["maximum"], ""),
    limitText("above", fields["exclusiveMinimum"]),
    limitText("below", fields["exclusiveMaximum"]),
    limitText("multiple of", fields["multipleOf"]),
    rangeText(fields["minLength"], fields["maxLength"], " characters"),
    rangeText(fields["minItems"], fields["maxItems"], " items"),
    typeof fields["pattern"] === "string" && !("format" in fields) ? `pattern ${fields["pattern"]}` : "",
    "default" in fields ? `default ${jsonOf(fields["default"])}` : "",
  ];
}

function rangeText(from: unknown, to: unknown, unit: string): string {
  const [min, max] = [limitOf(from), limitOf(to)];
  if (min === undefined) return max === undefined ? "" : `at most ${max}${unit}`;
  if (max === undefined) return `at least ${min}${unit}`;
  return min === max ? `${min}${unit}` : `${min} to ${max}${unit}`;
}

/** Returns a limit, or undefined for the safe-integer limits, which zod adds to every integer. */
function limitOf(limit: unknown): number | undefined {
  const number = numberOf(limit);
  return number !== undefined && Math.abs(number) < Number.MAX_SAFE_INTEGER ? number : undefined;
}

function limitText(word: string, limit: unknown): string {
  return typeof limit === "number" ? `${word} ${limit}` : "";
}

/** Returns the types of a schema, `null` last. */
export function typesOf({ type }: Fields): readonly string[] {
  const types = (typeof type === "string" ? [type] : listOf(type)).filter((each) => typeof each === "string");
  return types.toSorted((a, b) => Number(a === "null") - Number(b === "null"));
}

export interface Member {
  readonly name: string;
  readonly schema: unknown;
  readonly required: boolean;
}

/** Returns an object's own members, and those of every schema in `allOf`. */
export function membersOf(schema: unknown, resolve: Resolve, depth = 0): readonly Member[] {
  if (depth >= MAX_DEPTH) return [];
  const { fields } = resolve(schema);
  const required = new Set(listOf(fields["required"]));
  const inherited = listOf(fields["allOf"])
    .slice(0, MAX_ALTERNATIVES)
    .flatMap((each) => membersOf(each, resolve, depth + 1));
  const own = Object.entries(fieldsOf(fields["properties"])).map(([name, value]) => ({
    name,
    schema: value,
    required: false,
  }));
  const members = [...inherited, ...own].map(
    (each) => [each.name, { ...each, required: each.required || required.has(each.name) }] as const,
  );
  return [...new Map(members).values()];
}
