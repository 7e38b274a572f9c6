import type { DescribedSchema, SchemaIssue, StandardSchema } from "@svc/openapi";

type Body<T> = DescribedSchema<T> & { readonly validator: StandardSchema<T> };

/** One member of the body of a request. */
interface Member {
  readonly schema: Readonly<Record<string, unknown>>;
  readonly isRequired: boolean;
  /** Text that follows "must be" in an error message. */
  readonly expects: string;
  readonly accepts: (value: unknown) => boolean;
}

function text(maxLength: number, description: string): Member {
  return {
    schema: { type: "string", minLength: 1, maxLength, pattern: "\\S", description },
    isRequired: true,
    expects: `a string of 1 to ${maxLength} characters that is not only white space`,
    accepts: (value) => typeof value === "string" && value.length <= maxLength && value.trim() !== "",
  };
}

/** @param maxBytes largest size as JSON; undefined for no limit of its own */
function object(description: string, maxBytes?: number): Member {
  return {
    schema: { type: "object", description },
    isRequired: false,
    expects: maxBytes === undefined ? "an object" : `an object of at most ${maxBytes} bytes as JSON`,
    accepts: (value) =>
      typeof value === "object" &&
      value !== null &&
      !Array.isArray(value) &&
      (maxBytes === undefined || Buffer.byteLength(JSON.stringify(value)) <= maxBytes),
  };
}

/** Limits the metadata: every chunk of a text stores it, so a small body could otherwise fill many megabytes. */
const MAX_METADATA_BYTES = 4096;

const limit: Member = {
  schema: { type: "integer", minimum: 1, maximum: 100, default: 5 },
  isRequired: false,
  expects: "a whole number from 1 to 100",
  accepts: (value) => Number.isInteger(value) && (value as number) >= 1 && (value as number) <= 100,
};

/** The body of a new document. */
export interface NewDocument {
  readonly id: string;
  readonly text: string;
  readonly metadata?: Readonly<Record<string, unknown>> | undefined;
}

export const newDocument: Body<NewDocument> = bodyOf({
  id: text(1024, "The id of the document, which the client chooses"),
  text: text(1_000_000, "The text, which is split into chunks"),
  metadata: object(
    `Members that a search can filter by; at most ${MAX_METADATA_BYTES} bytes as JSON`,
    MAX_METADATA_BYTES,
  ),
});

/** The body of a search. */
export interface NewSearch {
  readonly text: string;
  readonly limit?: number | undefined;
  readonly where?: Readonly<Record<string, never>> | undefined;
}

export const newSearch: Body<NewSearch> = bodyOf({
  text: text(16_384, "What to search for, by meaning and by word"),
  limit,
  where: object('A condition on the metadata, such as { "kind": "travel", "price": { "lt": 30 } }'),
});

export const ingested = {
  schema: objectSchema({ id: { type: "string" }, ...counts("chunks", "embedded", "reused", "removed") }),
};
export const queued = { schema: objectSchema({ id: { type: "string" }, job: { type: "string" } }) };
const hit = objectSchema({
  document: { type: "string" },
  ...counts("chunk"),
  text: { type: "string" },
  metadata: { type: "object" },
  score: { type: ["number", "null"] },
});
export const found = { schema: objectSchema({ hits: { type: "array", items: hit } }) };

function counts(...names: readonly string[]): Record<string, object> {
  return Object.fromEntries(names.map((name) => [name, { type: "integer", minimum: 0 }]));
}

function objectSchema(properties: Readonly<Record<string, object>>): Readonly<Record<string, unknown>> {
  return { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}

function bodyOf<T>(members: Readonly<Record<string, Member>>): Body<T> {
  const names = Object.keys(members);
  const schema = {
    type: "object",
    properties: Object.fromEntries(names.map((name) => [name, members[name]?.schema])),
    required: names.filter((name) => members[name]?.isRequired),
    additionalProperties: false,
  };

  function issuesOf(value: unknown): readonly SchemaIssue[] {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return [{ message: "must be an object", code: "invalid_type" }];
    }
    const given = value as Readonly<Record<string, unknown>>;
    const unknown = Object.keys(given).filter((name) => !Object.hasOwn(members, name));
    return [
      ...names.flatMap((name): readonly SchemaIssue[] => {
        const { isRequired, expects, accepts } = members[name] as Member;
        const isFine = given[name] === undefined ? !isRequired : accepts(given[name]);
        return isFine ? [] : [{ message: `must be ${expects}`, path: [name], code: "invalid_value" }];
      }),
      ...(unknown.length === 0 ? [] : [{ message: "is unknown", code: "unrecognized_keys", keys: unknown }]),
    ];
  }

  return {
    schema,
    validator: {
      "~standard": {
        version: 1,
        vendor: "@svc/search-store",
        validate(value) {
          const issues = issuesOf(value);
          return issues.length > 0 ? { issues } : { value: value as T };
        },
      },
    },
  };
}
