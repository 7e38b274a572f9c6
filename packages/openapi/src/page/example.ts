import { type Fields, fieldsOf, listOf, numberOf, type Resolve } from "./document-shape.ts";
import { membersOf, typesOf } from "./schema-text.ts";

const MAX_DEPTH = 5;
const MAX_VALUES = 100;

/**
 * Returns the example of a parameter or media type, else an example of its schema, else a value that matches
 * the schema.
 */
export function exampleOf(described: Fields, resolve: Resolve): unknown {
  return givenExample(described, resolve) ?? valueOf(described["schema"], resolve);
}

/** Returns the example of a parameter or media type, or else of its schema. */
export function givenExample(described: Fields, resolve: Resolve): unknown {
  if (described["example"] !== undefined) return described["example"];
  for (const each of Object.values(fieldsOf(described["examples"]))) {
    const { value } = resolve(each).fields;
    if (value !== undefined) return value;
  }
  return exampleOfSchema(resolve(described["schema"]).fields);
}

function exampleOfSchema(fields: Fields): unknown {
  return fields["example"] ?? listOf(fields["examples"])[0];
}

/** Returns a value that matches the schema, but not necessarily its patterns. */
function valueOf(schema: unknown, resolve: Resolve): unknown {
  let values = 0;

  function value(part: unknown, depth: number): unknown {
    values += 1;
    const { fields } = resolve(part);
    const fixed =
      exampleOfSchema(fields) ?? fields["default"] ?? fields["const"] ?? listOf(fields["enum"])[0];
    if (fixed !== undefined) return fixed;
    const isFull = depth >= MAX_DEPTH || values > MAX_VALUES;
    const [variant] = [...listOf(fields["oneOf"]), ...listOf(fields["anyOf"])];
    if (variant !== undefined) return isFull ? null : value(variant, depth + 1);
    if ("properties" in fields || "allOf" in fields) {
      // Stop at a schema that refers to itself.
      if (isFull) return {};
      const members = membersOf(part, resolve)
        .slice(0, MAX_VALUES)
        .filter((each) => resolve(each.schema).fields["readOnly"] !== true && (each.required || depth < 2));
      return Object.fromEntries(members.map((each) => [each.name, value(each.schema, depth + 1)]));
    }
    const [type] = typesOf(fields);
    if (type === "array") return "items" in fields && !isFull ? [value(fields["items"], depth + 1)] : [];
    return simpleValue(type, fields);
  }

  return value(schema, 0);
}

function simpleValue(type: string | undefined, fields: Fields): unknown {
  switch (type) {
    case "string":
      return stringValue(fields);
    case "integer":
    case "number":
      return numberValue(fields);
    case "boolean":
      return true;
    case "object":
      return {};
    default:
      return null;
  }
}

const FORMATS: Readonly<Record<string, string>> = {
  "date-time": "2026-01-31T12:00:00Z",
  date: "2026-01-31",
  time: "12:00:00Z",
  duration: "PT1H",
  email: "ada@example.com",
  hostname: "example.com",
  ipv4: "192.0.2.1",
  ipv6: "2001:db8::1",
  uri: "https://example.com/",
  uuid: "123e4567-e89b-42d3-a456-426614174000",
};

const LONGEST_STRING = 200;

function stringValue({ format, minLength, maxLength }: Fields): string {
  if (typeof format === "string" && Object.hasOwn(FORMATS, format)) return FORMATS[format] ?? "";
  const least = Math.min(numberOf(minLength) ?? 0, LONGEST_STRING);
  return "text".padEnd(least, "x").slice(0, Math.max(0, numberOf(maxLength) ?? LONGEST_STRING));
}

function numberValue(fields: Fields): number {
  const step = numberOf(fields["multipleOf"]) || 1;
  const least = numberOf(fields["minimum"]) ?? (numberOf(fields["exclusiveMinimum"]) ?? -Infinity) + step;
  const most = numberOf(fields["maximum"]) ?? (numberOf(fields["exclusiveMaximum"]) ?? Infinity) - step;
  return Math.min(Math.max(Math.ceil(least / step) * step, step), most);
}
