import {
  type Fields,
  fieldsOf,
  listOf,
  type OpenApiDocument,
  type Resolve,
  textOf,
} from "./document-shape.ts";

/** The access that an operation requires. */
export interface Access {
  /** One sentence for each way to sign in, and one for each `x-` member about scopes, roles or the tenant. */
  readonly lines: readonly string[];
  readonly bearer: boolean;
  readonly cookie: string | undefined;
}

const LONGEST = 200;
const TOKEN = /^[\w!#$%&'*+.^`|~-]+$/;

export function accessOf(document: OpenApiDocument, operation: Fields, resolve: Resolve): Access {
  const schemes = fieldsOf(fieldsOf(document.components)["securitySchemes"]);
  const schemeOf = (name: string): Fields =>
    Object.hasOwn(schemes, name) ? resolve(schemes[name]).fields : {};
  const ways = listOf(operation["security"] ?? document.security).map((each) =>
    Object.entries(fieldsOf(each)),
  );
  const used = ways.flat().map(([name]) => schemeOf(name));
  const bearer = used.some(isBearer);
  const cookie = used.find(({ type, in: place }) => type === "apiKey" && place === "cookie")?.["name"];
  return {
    lines: [...ways.map((way, index) => (index === 0 ? "" : "or ") + wayText(way)), ...conditions(operation)],
    bearer,
    cookie: !bearer && typeof cookie === "string" && TOKEN.test(cookie) ? cookie : undefined,
  };
}

function isBearer({ type, scheme }: Fields): boolean {
  if (type === "oauth2" || type === "openIdConnect") return true;
  return type === "http" && typeof scheme === "string" && scheme.toLowerCase() === "bearer";
}

function wayText(way: readonly (readonly [string, unknown])[]): string {
  if (way.length === 0) return "without signing in";
  return way
    .map(([name, scopes]) => [textOf(name, LONGEST), ...namesText(scopes)].join(", scopes "))
    .join(" and ");
}

function namesText(value: unknown): readonly string[] {
  const names = listOf(value).map((each) => textOf(each, LONGEST));
  return names.length === 0 ? [] : [names.join(" ")];
}

/** Returns the members such as `x-roles`, with readable names. */
function conditions(operation: Fields): readonly string[] {
  return Object.entries(operation)
    .filter(([key]) => /^x-.*(?:scope|role|tenant)/i.test(key))
    .map(([key, value]) => {
      const name = key.slice(2).replaceAll("-", " ");
      const texts = typeof value === "string" ? [textOf(value, LONGEST)] : namesText(value);
      return texts.length === 0 ? name : `${name}: ${texts.join(" ")}`;
    })
    .map((text) => textOf(text, LONGEST));
}
