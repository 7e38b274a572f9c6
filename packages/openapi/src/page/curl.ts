import { type Fields, jsonOf } from "./document-shape.ts";

/** The parts of a request for the operation. The values are examples. */
export interface SampleRequest {
  readonly method: string;
  readonly path: string;
  /** The required parameters, with their values as strings. */
  readonly values: readonly {
    readonly name: string;
    readonly place: string;
    readonly texts: readonly string[];
  }[];
  /** The media type and text of the body. */
  readonly body: { readonly type: string; readonly text: string } | undefined;
  /** Whether the request needs a bearer token. */
  readonly bearer: boolean;
  /** The name of the cookie that the request needs, if that is the only way to sign in. */
  readonly cookie: string | undefined;
}

/**
 * Returns a curl command for a POSIX shell. `$ORIGIN` and `$TOKEN` are variables; every other text is in single quotes, in
 * which a shell expands nothing.
 */
export function curlOf({ method, path, values, body, bearer, cookie }: SampleRequest): string {
  const parts = [`curl "$ORIGIN"${quoted(addressOf(path, values))}`];
  if (method === "head") parts.push("--head");
  else if (method !== (body === undefined ? "get" : "post")) parts.push(`-X ${method.toUpperCase()}`);
  if (bearer) parts.push('-H "Authorization: Bearer $TOKEN"');
  if (cookie !== undefined) parts.push(`-b ${quoted(`${cookie}=`)}"$TOKEN"`);
  for (const { name, place, texts } of values) {
    if (place === "header") parts.push(`-H ${quoted(`${name}: ${texts.join(",")}`)}`);
  }
  // `--data` would read a file for a string that starts with `@`.
  if (body !== undefined)
    parts.push(`-H ${quoted(`Content-Type: ${body.type}`)}`, `--data-raw ${quoted(body.text)}`);
  return parts.join(" ");
}

function addressOf(path: string, values: SampleRequest["values"]): string {
  const query = new URLSearchParams();
  let filled = path;
  for (const { name, place, texts } of values) {
    if (place === "path") filled = filled.replaceAll(`{${name}}`, () => encoded(texts.join(",")));
    if (place === "query") for (const text of texts) query.append(name, text);
  }
  // curl expands braces and brackets in URLs.
  const literal = filled.toWellFormed().replace(/[^\w\-.~!$&'()*+,;=:@/%]/gu, encodeURIComponent);
  return (literal.startsWith("/") ? literal : `/${literal}`) + (query.size > 0 ? `?${query.toString()}` : "");
}

function encoded(text: string): string {
  return encodeURIComponent(text.toWellFormed());
}

function quoted(text: string): string {
  // When a command is pasted, a line break would end it.
  return `'${text.replace(/[\p{Cc}\u2028\u2029]+/gu, " ").replaceAll("'", "'\\''")}'`;
}

/** Returns an example as the strings of a parameter: one for each element of a list. */
export function textsOf(example: unknown): readonly string[] {
  if (!Array.isArray(example)) return [textOfValue(example)];
  return (example as readonly unknown[]).map(textOfValue);
}

function textOfValue(value: unknown): string {
  return typeof value === "string" ? value : jsonOf(value);
}

/** Returns an example body as text. */
export function bodyText(type: string, example: unknown): string {
  if (typeof example === "string" && !isJson(type)) return example;
  if (type === "application/x-www-form-urlencoded" && typeof example === "object" && example !== null) {
    const fields = new URLSearchParams();
    for (const [name, value] of Object.entries(example as Fields)) {
      for (const text of textsOf(value)) fields.append(name, text);
    }
    return fields.toString();
  }
  return jsonOf(example);
}

export function isJson(type: string): boolean {
  return /^application\/(?:[\w.+-]+\+)?json\b/i.test(type);
}
