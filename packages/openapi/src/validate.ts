import type { ValidationIssue } from "@svc/problem";
import { withDeadline } from "@svc/resilience";
import { issuesOf, MAX_ISSUES, type Place } from "./issues.ts";
import {
  hasPlainMessages,
  type Schema,
  type SchemaResult,
  type StandardSchema,
  validatorOf,
  type ValueOf,
} from "./schema.ts";
import { textReader, type TextReader, type TextValues } from "./text-values.ts";

/** The schemas of a request. A part without a schema is not validated. */
export interface RequestSchemas {
  /** The parameters of the path, such as `id` of `/items/:id`. */
  readonly params?: Schema | undefined;
  readonly query?: Schema | undefined;
  /** Schema of the headers, whose names are in lower case. */
  readonly headers?: Schema | undefined;
  readonly body?: Schema | undefined;
}

/** The values of a request, as they were received. */
export interface RequestValues {
  readonly params?: TextValues | undefined;
  readonly query?: TextValues | undefined;
  readonly headers?: TextValues | undefined;
  readonly body?: unknown;
}

/** The validated values; a part without a schema is undefined. */
export type Valid<S extends RequestSchemas> = {
  readonly [Part in keyof RequestSchemas]-?: S[Part] extends Schema ? ValueOf<S[Part]> : undefined;
};

/** The result of {@link validate}. */
export type Validation<S extends RequestSchemas> =
  { readonly value: Valid<S>; readonly issues?: undefined } | { readonly issues: readonly ValidationIssue[] };

const PLACES = [
  ["params", "path"],
  ["query", "query"],
  ["headers", "header"],
  ["body", "body"],
] as const satisfies readonly (readonly [keyof RequestSchemas, Place])[];

/** Time limit of an asynchronous schema, in milliseconds. */
const SCHEMA_MS = 1000;

/**
 * Validates the parts of a request: the path, the query and headers from their strings, the body as it is. Returns the
 * values, or the first 50 issues in the form of ERR-16. Returns a promise only if a schema does.
 *
 * @throws the error that a schema throws; DeadlineError (rejects) if a schema takes longer than a second
 */
export function validate<const S extends RequestSchemas>(
  schemas: S,
  values: RequestValues,
): Validation<S> | Promise<Validation<S>> {
  return validatorFor(schemas)(values);
}

/** A validator for the requests of one route. */
export type RequestValidator<S extends RequestSchemas> = (
  values: RequestValues,
) => Validation<S> | Promise<Validation<S>>;

interface Part {
  readonly part: keyof RequestSchemas;
  readonly place: Place;
  readonly validator: StandardSchema;
  readonly read: TextReader | undefined;
}

/** Prepares the validation of a route's requests. */
export function validatorFor<S extends RequestSchemas>(schemas: S): RequestValidator<S> {
  const parts = PLACES.flatMap(([part, place]): readonly Part[] => {
    const schema = schemas[part];
    const validator = schema && validatorOf(schema);
    if (schema === undefined || validator === undefined) return [];
    return [{ part, place, validator, read: part === "body" ? undefined : textReader(schema) }];
  });

  return (values) => {
    const given: unknown[] = [];
    const results: (SchemaResult<unknown> | Promise<SchemaResult<unknown>>)[] = [];
    let isAsync = false;
    // Use one loop, because this runs for every request: map() and some() took a tenth of the validation of a
    // body.
    for (const { part, validator, read } of parts) {
      const value = read === undefined ? values[part] : read((values[part] ?? {}) as TextValues);
      const result = validator["~standard"].validate(value);
      if (isPromise(result)) {
        isAsync = true;
        // Prevent an unhandled rejection: another schema may throw before this promise is awaited.
        result.catch(() => undefined);
      }
      given.push(value);
      results.push(result);
    }
    if (!isAsync) return joined(given, results as SchemaResult<unknown>[]);
    const all = (): Promise<SchemaResult<unknown>[]> => Promise.all(results.map(async (each) => each));
    return withDeadline(SCHEMA_MS, all).then((done) => joined(given, done));
  };

  function joined(given: readonly unknown[], results: readonly SchemaResult<unknown>[]): Validation<S> {
    const value: Record<string, unknown> = {
      params: undefined,
      query: undefined,
      headers: undefined,
      body: undefined,
    };
    let issues: ValidationIssue[] | undefined;
    for (let at = 0; at < parts.length; at++) {
      const { part, place, validator } = parts[at] as Part;
      const result = results[at] as SchemaResult<unknown>;
      if (result.issues === undefined) value[part] = result.value;
      else
        issues = [
          ...(issues ?? []),
          ...issuesOf(place, given[at], result.issues, !hasPlainMessages(validator)),
        ];
    }
    return issues === undefined ? { value: value as Valid<S> } : { issues: issues.slice(0, MAX_ISSUES) };
  }
}

function isPromise(value: unknown): value is Promise<unknown> {
  return typeof (value as { then?: unknown }).then === "function";
}
