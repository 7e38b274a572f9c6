import { createHash } from "node:crypto";
import type { JsonSchema } from "./schema.ts";

/**
 * Returns a key for each of the schemas, which are given by reference, such as `#/$defs/Pen`. Two schemas have the same
 * key only if they have the same reference and the same content, including the schemas to which they refer.
 */
export function keysOf(schemas: ReadonlyMap<string, JsonSchema>): ReadonlyMap<string, string> {
  const contents = new Map([...schemas].map(([reference, schema]) => [reference, contentOf(schema)]));
  return new Map([...schemas.keys()].map((reference) => [reference, keyOf(reference, contents)]));
}

interface Content {
  readonly hash: string;
  /** The references in the schema. */
  readonly references: readonly string[];
}

function contentOf(schema: JsonSchema): Content {
  const text = JSON.stringify(schema);
  return { hash: createHash("sha256").update(text).digest("base64url"), references: referencesIn(text) };
}

/** Returns the references in the text of a schema. */
export function referencesIn(text: string): readonly string[] {
  const found = text.matchAll(/"\$ref":("(?:[^"\\]|\\.)*")/g);
  return Array.from(found, ([, reference = '""']) => JSON.parse(reference) as string);
}

function keyOf(reference: string, contents: ReadonlyMap<string, Content>): string {
  const reached = new Set([reference]);
  // The loop also visits the references that it adds.
  for (const each of reached) for (const next of contents.get(each)?.references ?? []) reached.add(next);
  const lines = [...reached].toSorted().map((each) => `${each} ${contents.get(each)?.hash ?? ""}`);
  return createHash("sha256")
    .update([reference, ...lines].join("\n"))
    .digest("base64url");
}
