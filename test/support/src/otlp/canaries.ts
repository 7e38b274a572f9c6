import { randomBytes } from "node:crypto";

/** The inputs from which a value could leak into a trace, a log line or a page. */
const kinds = [
  "unmatchedPath",
  "matchedParameter",
  "query",
  "requestHeader",
  "cookie",
  "opaqueToken",
  "jsonBody",
  "malformedBody",
  "formBody",
  "sqlParameter",
  "sqlLiteral",
  "sqlComment",
  "invalidSyntax",
  "duplicateKey",
  "wrappedSqlError",
  "jobPayload",
  "jobError",
  "eventData",
  "exportHeader",
  "endpointUser",
  "endpointPassword",
  "unknownAttribute",
  "searchText",
  "claimedTenant",
  "errorMessage",
] as const;

export type CanaryKind = (typeof kinds)[number];

/** A unique value for each input. */
export type Canaries = Readonly<Record<CanaryKind, string>>;

export function newCanaries(): Canaries {
  const values = kinds.map((kind) => [kind, `canary${randomBytes(8).toString("hex")}`] as const);
  return Object.fromEntries(values) as Canaries;
}

/** The output of a service: exported bodies, log lines, and pages by path. */
export interface Written {
  readonly bodies: readonly Buffer[];
  readonly lines: readonly string[];
  readonly pages: Readonly<Record<string, string>>;
}

/**
 * Returns where each value was found, by kind: `export`, a page's path, or the message of a log line with the member that
 * contains the value. Omits kinds whose value was not found.
 */
export function placesOf(
  values: Readonly<Record<string, string>>,
  written: Written,
): Record<string, string[]> {
  const found = Object.entries(values).map(([kind, value]) => [kind, placesOfOne(value, written)] as const);
  return Object.fromEntries(found.filter(([, places]) => places.length > 0));
}

function placesOfOne(value: string, { bodies, lines, pages }: Written): string[] {
  const places = new Set<string>();
  if (bodies.some((body) => body.includes(value))) places.add("export");
  for (const [path, text] of Object.entries(pages)) if (text.includes(value)) places.add(path);
  for (const line of lines.filter((each) => each.includes(value))) {
    const record = JSON.parse(line) as Record<string, unknown>;
    for (const member of membersWith(record, value)) places.add(`${String(record["message"])}: ${member}`);
  }
  return [...places].toSorted();
}

function membersWith(record: object, value: string): string[] {
  return Object.entries(record).flatMap(([name, member]: [string, unknown]) => {
    if (name.includes(value)) return [name];
    if (typeof member === "object" && member !== null)
      return membersWith(member, value).map((inner) => `${name}.${inner}`);
    return String(member).includes(value) ? [name] : [];
  });
}
