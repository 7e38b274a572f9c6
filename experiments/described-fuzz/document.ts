/** A JSON Schema. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** One parameter of an operation. */
export interface Parameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly schema: JsonSchema;
}

/** One operation of a document, without references in its parameters and its body. */
export interface DescribedOperation {
  /** HTTP method in upper case. */
  readonly method: string;
  readonly template: string;
  readonly parameters: readonly Parameter[];
  readonly body: JsonSchema | undefined;
  readonly isForPeople: boolean;
  /** Whether it may need a token in the header or in a cookie. */
  readonly needsToken: boolean;
  /** The media types of each declared status; none for a response without a described body. */
  readonly responses: ReadonlyMap<number, readonly string[]>;
}

/** The parts of an OpenAPI 3.1 document that the experiment reads. */
export interface ReadDocument {
  readonly operations: readonly DescribedOperation[];
  /** Resolves a reference to another JSON Schema of the document. */
  readonly resolve: (schema: JsonSchema) => JsonSchema;
}

/** Reads the operations of a document. */
export function readDocument(document: JsonSchema): ReadDocument {
  const resolve = (schema: JsonSchema): JsonSchema => {
    const { $ref } = schema;
    if (typeof $ref !== "string") return schema;
    let found: unknown = document;
    for (const part of $ref.split("/").slice(1)) found = (found as JsonSchema)[part];
    return resolve(found as JsonSchema);
  };
  const operations: DescribedOperation[] = [];
  for (const [template, item] of Object.entries(document["paths"] as Record<string, JsonSchema>)) {
    for (const [method, each] of Object.entries(item)) {
      const { parameters = [], requestBody, responses, security = [], tags = [] } = each as Operation;
      operations.push({
        method: method.toUpperCase(),
        template,
        parameters: parameters.map((given) => {
          const parameter = resolve(given) as unknown as Parameter;
          return { ...parameter, required: parameter.required === true };
        }),
        body: requestBody?.content["application/json"]?.schema,
        isForPeople: tags.includes("pages"),
        needsToken: security.length > 0,
        responses: new Map(
          Object.entries(responses).map(([status, { content = {} }]) => [
            Number(status),
            Object.keys(content),
          ]),
        ),
      });
    }
  }
  return { operations, resolve };
}

interface Operation {
  readonly parameters?: readonly JsonSchema[];
  readonly requestBody?: Content;
  readonly responses: Readonly<Record<string, Partial<Content>>>;
  readonly security?: readonly JsonSchema[];
  readonly tags?: readonly string[];
}

interface Content {
  readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>>;
}
