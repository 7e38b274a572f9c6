/** The members of an OpenAPI 3.1 document that the page shows. Each may have a value of any type. */
export interface OpenApiDocument {
  readonly openapi?: unknown;
  readonly info?: unknown;
  readonly servers?: unknown;
  readonly security?: unknown;
  readonly tags?: unknown;
  readonly paths?: unknown;
  readonly components?: unknown;
  readonly externalDocs?: unknown;
  readonly "x-unlisted"?: unknown;
}

export type Fields = Readonly<Record<string, unknown>>;

const NONE: Fields = {};

/** Returns an object as it is, and an empty object for every other value. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Fields) : NONE;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as readonly unknown[]) : [];
}

/** Returns a string, trimmed and cut to `longest` characters, or `""` for any other value. */
export function textOf(value: unknown, longest: number): string {
  return typeof value === "string" ? cut(value.trim(), longest) : "";
}

export function numberOf(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}

/** Shortens a string to `longest` characters and an ellipsis. */
export function cut(text: string, longest: number): string {
  return text.length <= longest ? text : `${text.slice(0, longest).toWellFormed()}…`;
}

/** Returns a value as JSON, or `""` for a value that JSON cannot represent, such as a cyclic object. */
export function jsonOf(value: unknown, indent = 0): string {
  try {
    return (JSON.stringify(value, undefined, indent) as string | undefined) ?? "";
  } catch {
    return "";
  }
}

export interface Resolved {
  readonly fields: Fields;
  /** The last part of the reference, for example `Expense`; undefined for a value without a reference. */
  readonly name: string | undefined;
}

export type Resolve = (value: unknown) => Resolved;

// Maximum length of a chain of references. A component may itself be a reference.
const MAX_REFERENCES = 8;

/**
 * Creates a function that resolves references within `document`. A reference without a target yields an empty
 * object.
 */
export function createResolver(document: OpenApiDocument): Resolve {
  return function resolve(value) {
    let fields = fieldsOf(value);
    let name: string | undefined;
    for (let followed = 0; followed < MAX_REFERENCES; followed++) {
      if (typeof fields["$ref"] !== "string") return { fields, name };
      const { $ref: reference, ...siblings } = fields;
      const steps = stepsOf(textOf(reference, Infinity));
      name ??= steps.at(-1);
      // OpenAPI 3.1 allows a description beside a reference, and it replaces the target's description.
      fields = { ...targetOf(document, steps), ...siblings };
    }
    return { fields: NONE, name };
  };
}

function stepsOf(reference: string): readonly string[] {
  const [, pointer = ""] = reference.split("#", 2);
  return pointer.split("/").slice(1).map(unescaped);
}

function unescaped(step: string): string {
  try {
    return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return step;
  }
}

function targetOf(document: OpenApiDocument, steps: readonly string[]): Fields {
  let target: unknown = document;
  // Read only own members, so that `#/components/schemas/constructor` does not reach a prototype.
  for (const step of steps) target = Object.hasOwn(Object(target), step) ? fieldsOf(target)[step] : undefined;
  return steps.length === 0 ? NONE : fieldsOf(target);
}
