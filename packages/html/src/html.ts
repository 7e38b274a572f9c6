// Symbol.for() lets two installed copies of the package accept each other's values. Clients cannot forge a symbol in JSON.
const HTML = Symbol.for("@svc/html");

/** HTML that a template includes as it is. Only {@link markup}, {@link link} and {@link trusted} create it. */
export interface Html {
  readonly text: string;
  readonly [HTML]: true;
}

/** A value in a template. Strings are escaped, `false` and undefined are omitted, and each item of a list is on its own line. */
export type Part = Html | readonly Html[] | string | number | false | undefined;

/**
 * Makes HTML from a template literal. Escapes every value for text and for attributes in double quotes. That is not enough for
 * values in `<script>` and `<style>`, in attributes without quotes, and in addresses, which {@link link} checks.
 *
 * @throws TypeError for a value that is not a {@link Part}, such as an object that a client sent
 */
export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return trusted(strings.map((text, index) => text + textOf(parts[index])).join(""));
}

/** Makes a link to a web page. Every other address, for example `javascript:`, becomes text. */
export function link(address: string, title: string): Html {
  return /^https?:\/\//i.test(address)
    ? markup`<a href="${address}" rel="noreferrer">${title || address}</a>`
    : markup`${title} ${address}`;
}

/** Returns text as HTML, without escaping it. The text must not contain values from clients or databases. */
export function trusted(text: string): Html {
  return { text, [HTML]: true };
}

function textOf(part: Part): string {
  if (part === undefined || part === false) return "";
  if (typeof part === "string" || typeof part === "number") return escaped(String(part));
  if (Array.isArray(part)) return part.map(textOf).join("\n");
  if (isHtml(part)) return part.text;
  throw new TypeError(
    "markup``: a value must be a string, a number, HTML, a list of HTML, false or undefined",
  );
}

function isHtml(value: unknown): value is Html {
  return typeof value === "object" && value !== null && HTML in value;
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  // HTML has no way to write control characters, so each becomes the replacement character.
  return text.replace(/[&<>"']|(?![\t\n\r])\p{Cc}/gu, (character) => ENTITIES[character] ?? "\ufffd");
}
