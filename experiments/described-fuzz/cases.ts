import fc from "fast-check";
import type { DescribedOperation, Parameter, ReadDocument } from "./document.ts";
import type { Draft } from "./draft.ts";
import { type Twist, twistsFor } from "./twists.ts";
import { type Known, valuesOf } from "./values.ts";

/** A request, with the operation and the twists from which it was made. */
export interface Case extends Draft {
  readonly operation: DescribedOperation;
  /** The names of its twists; none for a valid request. */
  readonly twists: readonly string[];
}

interface Parts {
  readonly params: Readonly<Record<string, unknown>>;
  readonly query: Readonly<Record<string, unknown>>;
  readonly body: unknown;
}

/** Returns an arbitrary of requests made from a document: half of them valid, half with one to three twists. */
export function casesOf({ operations, resolve }: ReadDocument, known: Known): fc.Arbitrary<Case> {
  return fc.oneof(
    ...operations.map((operation) => ({
      // Operations with a described input can have more faults.
      weight:
        1 +
        3 * operation.parameters.filter((each) => each.in !== "header").length +
        (operation.method === "GET" || operation.isForPeople ? 0 : 12),
      arbitrary: casesFor(operation, resolve, known),
    })),
  );
}

function casesFor(
  operation: DescribedOperation,
  resolve: ReadDocument["resolve"],
  known: Known,
): fc.Arbitrary<Case> {
  const record = (place: Parameter["in"]): fc.Arbitrary<Record<string, unknown>> => {
    const parameters = operation.parameters.filter((each) => each.in === place);
    const values = parameters.map(({ name, schema }): [string, fc.Arbitrary<unknown>] => {
      const made = valuesOf(place === "path" ? { minLength: 1, ...schema } : schema, resolve, known);
      const ids = known[operation.template];
      return [name, ids === undefined ? made : fc.oneof(fc.constantFrom(...ids), made)];
    });
    const requiredKeys = parameters.filter(({ required }) => required).map(({ name }) => name);
    return fc.record(Object.fromEntries(values), { requiredKeys }) as fc.Arbitrary<Record<string, unknown>>;
  };
  const valid = fc.record({
    params: record("path"),
    query: record("query").map(inOrder),
    body: operation.body === undefined ? fc.constant(undefined) : valuesOf(operation.body, resolve, known),
  });
  const twists = fc.array(fc.constantFrom(...twistsFor(operation)), { minLength: 1, maxLength: 3 });
  const draws = fc.array(fc.nat(), { minLength: 4, maxLength: 4 });
  return fc
    .tuple(valid, fc.boolean(), twists, draws)
    .map(([parts, isValid, chosen, numbers]) => caseOf(operation, parts, isValid ? [] : chosen, numbers));
}

function caseOf(
  operation: DescribedOperation,
  parts: Parts,
  twists: readonly Twist[],
  draws: readonly number[],
): Case {
  const draft: Draft = {
    method: operation.method,
    segments: operation.template
      .split("/")
      .slice(1)
      .map((segment) => segment.replace(/^\{(\w+)\}$/, (_all, name: string) => escaped(parts.params[name]))),
    query: Object.entries(parts.query).flatMap(([name, value]) =>
      [value].flat().map((each) => [name, escaped(each)] as const),
    ),
    headers: {},
    caller: "full",
    json: structuredClone(parts.body),
    raw: undefined,
    isAddressed: true,
  };
  for (const [at, { apply }] of twists.entries()) apply(draft, draws[at] ?? 0);
  return { ...draft, operation, twists: twists.map(({ name }) => name) };
}

function escaped(value: unknown): string {
  const text = encodeURIComponent(String(value));
  // HTTP clients remove these segments from a path.
  return /^\.{1,2}$/.test(text) ? text.replaceAll(".", "%2E") : text;
}

const mostMonths = 59;

/** Puts the months of a range in order, which JSON Schema cannot express. */
function inOrder(query: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { from, to } = query;
  if (typeof from !== "string" || typeof to !== "string") return { ...query };
  const [first = "", last = ""] = [from, to].toSorted();
  const isShort = monthOf(last) - monthOf(first) <= mostMonths;
  return { ...query, from: first, to: isShort ? last : first };
}

function monthOf(text: string): number {
  const [year, month] = text.split("-").map(Number);
  return (year ?? 0) * 12 + (month ?? 0);
}
