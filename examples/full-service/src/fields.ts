import { unprocessable, type ValidationIssue } from "@svc/problem";

/** Reads a value of a request. `expects` describes the valid values; `read` returns undefined for all others. */
export interface Reading<T> {
  readonly expects: string;
  read(value: unknown): T | undefined;
}

/** Accepts a text only if it matches a pattern. */
export function matching(pattern: RegExp, expects: string): Reading<string> {
  return {
    expects,
    read: (value) => (typeof value === "string" && pattern.test(value) ? value : undefined),
  };
}

/**
 * Returns the fields of a body; a field that is not in `known` is a fault.
 *
 * @throws ProblemError 422 if the body is not a JSON object
 */
export function bodyFields(body: unknown, known: readonly string[]): Fields {
  if (typeof body !== "object" || body === null || Array.isArray(body)) {
    throw unprocessable([{ type: "object", loc: ["body"], msg: "must be a JSON object" }]);
  }
  return new Fields("body", Object.entries(body), known);
}

/** The named values of a request, and the faults found in them. */
export class Fields {
  readonly #place: string;
  readonly #values: ReadonlyMap<string, unknown>;
  readonly #issues: ValidationIssue[] = [];

  constructor(place: string, entries: readonly (readonly [string, unknown])[], known: readonly string[]) {
    this.#place = place;
    this.#values = new Map(entries);
    const seen = new Set<string>();
    for (const [name] of entries) {
      if (!known.includes(name))
        this.#add("unknown", name, `is unknown; expected one of ${known.join(", ")}`);
      else if (seen.has(name)) this.#add("repeated", name, "must be given once");
      seen.add(name);
    }
  }

  required<T>(name: string, reading: Reading<T>): T | undefined {
    if (this.#values.get(name) !== undefined) return this.optional(name, reading);
    this.#add("missing", name, `must be ${reading.expects}`);
    return undefined;
  }

  optional<T>(name: string, reading: Reading<T>): T | undefined {
    const input = this.#values.get(name);
    if (input === undefined) return undefined;
    const value = reading.read(input);
    if (value === undefined)
      this.#issues.push(this.#issue("value", name, `must be ${reading.expects}`, input));
    return value;
  }

  /** Adds a fault in a combination of values, reported for the value `name`. */
  refuse(name: string, msg: string): void {
    this.#issues.push(this.#issue("value", name, msg, this.#values.get(name)));
  }

  get issues(): readonly ValidationIssue[] {
    return this.#issues;
  }

  throwIssues(): void {
    if (this.#issues.length > 0) throw unprocessable(this.#issues);
  }

  #add(type: string, name: string, msg: string): void {
    this.#issues.push(this.#issue(type, name, msg));
  }

  #issue(type: string, name: string, msg: string, input?: unknown): ValidationIssue {
    return { type, loc: [this.#place, name], msg, ...(input === undefined ? {} : { input }) };
  }
}
