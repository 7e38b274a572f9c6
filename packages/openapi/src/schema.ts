/** A schema of any library that implements Standard Schema, such as zod, valibot and arktype. */
export interface StandardSchema<Output = unknown> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: unknown; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** Standard JSON Schema, if the library implements it. */
    readonly jsonSchema?: Readonly<Record<Direction, JsonSchemaWriter>> | undefined;
  };
}

/** The result of a validation: the value, or at least one issue. */
export type SchemaResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] };

/** One fault that a schema found. Libraries add members, such as `code` (zod, arktype) and `type` (valibot). */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
  readonly code?: unknown;
  readonly type?: unknown;
  readonly keys?: unknown;
}

/** Whether a schema describes a request (`input`) or a response (`output`). */
export type Direction = "input" | "output";

interface WriterOptions {
  readonly target: "draft-2020-12";
  readonly libraryOptions: Readonly<Record<string, unknown>>;
}

type JsonSchemaWriter = (options: WriterOptions) => Record<string, unknown>;

/** A JSON Schema of draft 2020-12. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** A JSON Schema for the document, with an optional validator of another library. Without one nothing is validated. */
export interface DescribedSchema<Output = unknown> {
  readonly schema: JsonSchema;
  readonly validator?: StandardSchema<Output> | undefined;
}

/** A schema of a value: a Standard Schema, or a JSON Schema with a validator. */
export type Schema<Output = unknown> = StandardSchema<Output> | DescribedSchema<Output>;

/** The type of the values that a schema accepts. */
export type ValueOf<S> =
  S extends StandardSchema<infer Output>
    ? Output
    : S extends { readonly validator: StandardSchema<infer Output> }
      ? Output
      : unknown;

/** Returns the validator of a schema; undefined for a JSON Schema without one. */
export function validatorOf(schema: Schema): StandardSchema | undefined {
  return "~standard" in schema ? schema : schema.validator;
}

/** Returns whether a validator's messages never quote the input, as with zod. Valibot and ArkType quote it. */
export function hasPlainMessages(validator: StandardSchema): boolean {
  return validator["~standard"].vendor === "zod";
}

const writing: WriterOptions = {
  target: "draft-2020-12",
  // A part that the library cannot express, such as a date, becomes `{}`; the first option is zod's, the second valibot's.
  libraryOptions: { unrepresentable: "any", errorMode: "ignore" },
};

/** Returns the JSON Schema of a schema, or `{}`, which allows every value, if its library cannot produce one. */
export function jsonSchemaOf(schema: Schema, direction: Direction): JsonSchema {
  if (!("~standard" in schema)) return schema.schema;
  try {
    return schema["~standard"].jsonSchema?.[direction](writing) ?? {};
  } catch {
    return {};
  }
}

/** @throws TypeError if a value is not a schema */
export function checkSchema(value: unknown, name: string): asserts value is Schema {
  // ArkType's schemas are functions.
  const isObject = (each: unknown): each is object =>
    (typeof each === "object" && each !== null) || typeof each === "function";
  if (isObject(value) && "~standard" in value) return;
  const { schema, validator } = isObject(value) ? (value as Partial<DescribedSchema>) : {};
  const isValidator = validator === undefined || (isObject(validator) && "~standard" in validator);
  if (isObject(schema) && isValidator) return;
  throw new TypeError(`${name} must be a Standard Schema, or { schema, validator } with a JSON Schema`);
}

/** Returns the members that are defined. */
export function defined(members: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}
