/** Error for a request without a valid response: no connection, a timeout, or bytes that are not HTTP. */
export class NoAnswer extends Error {
  override readonly name = "NoAnswer";
}

/** Resolves to the response, or to the `NoAnswer` error if there is no response. */
export function orReason<T>(answer: Promise<T>): Promise<T | NoAnswer> {
  return answer.catch((error: unknown) => {
    if (error instanceof NoAnswer) return error;
    throw error;
  });
}

/** A response from the service under test, with every header as received. */
export class Answer {
  readonly status: number;
  /** Header names as sent, in order; a repeated header appears twice. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
  /** Milliseconds from the last byte of the request to the last byte of the response. */
  readonly durationMs: number;
  #object: { readonly value: JsonObject | undefined } | undefined;

  constructor(status: number, headers: Answer["headers"], body: Buffer, durationMs: number) {
    this.status = status;
    this.headers = headers;
    this.body = body;
    this.durationMs = durationMs;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  /** Returns every value of a header. */
  all(name: string): readonly string[] {
    const key = name.toLowerCase();
    return this.headers.filter(([each]) => each.toLowerCase() === key).map(([, value]) => value);
  }

  header(name: string): string | undefined {
    return this.all(name)[0];
  }

  /** The media type without parameters, in lower case. */
  get mediaType(): string {
    return (this.header("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? "";
  }

  get text(): string {
    return this.body.toString("utf8");
  }

  /** The body if it is a JSON object. */
  get object(): JsonObject | undefined {
    this.#object ??= { value: parseObject(this.text) };
    return this.#object.value;
  }

  /** Whether the body contains `words`, as plain text or as an escaped JSON string. */
  says(words: string): boolean {
    return this.text.includes(words) || (this.object !== undefined && hasText(this.object, words));
  }
}

/** Returns the JSON object that a string contains; undefined if it contains anything else. */
export function parseObject(text: string): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function hasText(value: unknown, words: string): boolean {
  if (typeof value === "string") return value.includes(words);
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some((each) => hasText(each, words));
}

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
