import { type Description, isRecord } from "./description.ts";
import { resolve } from "./references.ts";

/** Returns the value of a parameter: its example, else a default, else the first member of an enum (LOAD-1). */
export function parameterValue(description: Description, parameter: Description): unknown {
  const content = isRecord(parameter["content"]) ? Object.values(parameter["content"])[0] : undefined;
  const { schema } = isRecord(content) ? content : parameter;
  return (
    ownExample(description, parameter) ??
    (isRecord(content) ? ownExample(description, content) : undefined) ??
    searchSchema(description, schema, schemaExample) ??
    searchSchema(description, schema, ({ default: preset }) => preset) ??
    searchSchema(description, schema, (part) => firstOf(part["enum"]) ?? part["const"])
  );
}

/** Returns the example of a request body, or else of its schema; undefined if neither has one. */
export function bodyExample(description: Description, media: Description): unknown {
  return ownExample(description, media) ?? searchSchema(description, media["schema"], schemaExample);
}

/** Returns `example`, or the value of the first of `examples`, of a parameter or a media type. */
function ownExample(description: Description, { example, examples }: Description): unknown {
  if (example !== undefined) return example;
  if (!isRecord(examples)) return undefined;
  return resolve(description, Object.values(examples)[0])?.["value"];
}

function schemaExample({ example, examples }: Description): unknown {
  return example ?? firstOf(examples);
}

function firstOf(list: unknown): unknown {
  return Array.isArray(list) ? (list as unknown[])[0] : undefined;
}

/** Returns the first result of `read` for a schema and the schemas of which it is composed. Reads each schema once. */
function searchSchema(
  description: Description,
  schema: unknown,
  read: (schema: Description) => unknown,
): unknown {
  const seen = new Set<Description>();
  const waiting: unknown[] = [schema];
  // The loop also visits the parts that it adds.
  for (const next of waiting) {
    const part = resolve(description, next);
    if (part === undefined || seen.has(part)) continue;
    seen.add(part);
    const found = read(part);
    if (found !== undefined && found !== null) return found;
    for (const kind of ["allOf", "oneOf", "anyOf"]) {
      if (Array.isArray(part[kind])) for (const each of part[kind] as unknown[]) waiting.push(each);
    }
  }
  return undefined;
}
