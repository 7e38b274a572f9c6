/** A schema of any library that implements Standard Schema, such as zod, valibot and arktype. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
  };
}

/** The result of a validation: the value, or at least one issue. */
export type SchemaResult<Output> =
  { readonly value: Output; readonly issues?: undefined } | { readonly issues: readonly SchemaIssue[] };

/** One fault that a schema found. */
export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

/** Returns whether a value is a Standard Schema. Schemas of ArkType are functions. */
export function isStandardSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  const standard = (value as Partial<Record<"~standard", unknown>>)["~standard"];
  return (
    typeof standard === "object" &&
    standard !== null &&
    typeof (standard as { readonly validate?: unknown }).validate === "function"
  );
}
