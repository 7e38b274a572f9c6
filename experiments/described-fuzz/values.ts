import fc from "fast-check";
import { anyCharacter } from "@svc/test-support/any-character";
import type { JsonSchema } from "./document.ts";

/** Values that only the service can create, by format: cursors and ids. */
export type Known = Readonly<Record<string, readonly string[]>>;

/** Texts that a service may misinterpret. */
const oddTexts = [
  "'; drop table expenses; --",
  "%00",
  "null",
  "../..",
  "\u202e",
  "ﷺ",
  "\\u0000",
  "{{7*7}}",
  "NaN",
];
/** A pattern that matches all of these texts accepts any string. */
const anyTexts = ["a b", "ü", "\u{1f600}", "'\"\\"];
const longestText = 20_000;

/** Returns an arbitrary of the values that a JSON Schema allows. */
export function valuesOf(
  schema: JsonSchema,
  resolve: (schema: JsonSchema) => JsonSchema,
  known: Known,
): fc.Arbitrary<unknown> {
  const inner = (each: JsonSchema): fc.Arbitrary<unknown> => valuesOf(each, resolve, known);
  const given = resolve(schema);
  const { type, anyOf, oneOf, enum: values, items } = given;
  const branches = anyOf ?? oneOf;
  if (Array.isArray(branches)) return fc.oneof(...(branches as JsonSchema[]).map(inner));
  if ("const" in given) return fc.constant(given["const"]);
  if (Array.isArray(values)) return fc.constantFrom(...(values as unknown[]));
  if (Array.isArray(type))
    return fc.oneof(...(type as string[]).map((each) => inner({ ...given, type: each })));
  switch (type) {
    case "string":
      return textsOf(given, known);
    case "integer":
      return fc.oneof(
        fc.maxSafeInteger().filter((value) => isWithin(value, given)),
        fc.integer({ min: Math.max(lowest(given), -100), max: Math.min(highest(given), 100) }),
        fc.constantFrom(lowest(given), highest(given)),
      );
    case "number":
      return fc.oneof(
        fc.double({ noNaN: true, noDefaultInfinity: true }),
        fc.integer({ min: -100, max: 100 }),
      );
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "array":
      return fc.array(inner((items ?? {}) as JsonSchema), { maxLength: 3 });
    case "object":
      return objectsOf(given, inner);
    default:
      return fc.jsonValue();
  }
}

function objectsOf(
  schema: JsonSchema,
  inner: (schema: JsonSchema) => fc.Arbitrary<unknown>,
): fc.Arbitrary<object> {
  const { properties = {}, required = [], additionalProperties, propertyNames } = schema;
  const members = Object.fromEntries(
    Object.entries(properties as Record<string, JsonSchema>).map(([name, each]) => [name, inner(each)]),
  );
  const own = fc.record(members, { requiredKeys: required as string[] });
  if (typeof additionalProperties !== "object" || additionalProperties === null) return own;
  const most = Number(schema["maxProperties"] ?? 20) - Object.keys(members).length;
  const names = inner((propertyNames ?? { type: "string" }) as JsonSchema) as fc.Arbitrary<string>;
  const more = fc.dictionary(names, inner(additionalProperties as JsonSchema), {
    maxKeys: most,
    size: "max",
    noNullPrototype: true,
  });
  return fc.tuple(more, own).map(([left, right]) => ({ ...left, ...right }));
}

function textsOf(
  { pattern = "", format, minLength = 0, maxLength = 40 }: JsonSchema,
  known: Known,
): fc.Arbitrary<string> {
  const source = String(pattern);
  const expression = new RegExp(source, "u");
  const most = Math.min(Number(maxLength), longestText);
  const isAllowed = (value: string): boolean =>
    expression.test(value) && lengthOf(value) >= Number(minLength) && lengthOf(value) <= most;
  const ofFormat = known[String(format)];
  if (ofFormat !== undefined) return fc.constantFrom(...ofFormat);
  if (format === "date-time") return times.filter(isAllowed);
  if (!anyTexts.every((each) => expression.test(each)))
    return fc.stringMatching(new RegExp(source), { maxLength: most }).filter(isAllowed);
  const long = fc
    .tuple(
      fc.constantFrom("a", "ü", "\u{1f600}", "\n"),
      fc.constantFrom(most, most - 1, Math.ceil(most / 2) + 1),
    )
    .map(([unit, length]) => `x${unit.repeat(Math.max(0, length - 1))}`);
  return fc
    .oneof(
      { weight: 4, arbitrary: fc.string({ unit: "grapheme", maxLength: most }) },
      { weight: 2, arbitrary: fc.string({ unit: anyCharacter, maxLength: most }) },
      { weight: 1, arbitrary: fc.constantFrom(...oddTexts) },
      { weight: 1, arbitrary: long },
    )
    .filter(isAllowed);
}

const times = fc
  .tuple(
    fc.date({
      min: new Date("1900-01-02T00:00:00Z"),
      max: new Date("2199-12-30T00:00:00Z"),
      noInvalidDate: true,
    }),
    fc.constantFrom("Z", "+00:00", "-00:00", "+14:00", "-12:30"),
    fc.constantFrom("", ".0", ".123456789"),
  )
  .map(([date, zone, fraction]) => `${date.toISOString().slice(0, 19)}${fraction}${zone}`);

function lowest({ minimum, exclusiveMinimum }: JsonSchema): number {
  return Number(minimum ?? (exclusiveMinimum === undefined ? -1000 : Number(exclusiveMinimum) + 1));
}

function highest({ maximum, exclusiveMaximum }: JsonSchema): number {
  return Number(maximum ?? (exclusiveMaximum === undefined ? 1000 : Number(exclusiveMaximum) - 1));
}

function isWithin(value: number, schema: JsonSchema): boolean {
  return value >= lowest(schema) && value <= highest(schema);
}

/** Returns the length in code points, which JSON Schema counts. */
function lengthOf(text: string): number {
  return Array.from(text).length;
}
