/** Escaped HTML. */
export interface Html {
  readonly text: string;
}

/** A value in a template. Strings are escaped; `false` and undefined are omitted. */
export type Part = Html | readonly Html[] | string | number | false | undefined;

/** Builds HTML. Escapes every value, for text and for double-quoted attributes. */
export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { text: strings.map((text, index) => text + shown(parts[index])).join("") };
}

function shown(part: Part): string {
  if (part === undefined || part === false) return "";
  if (typeof part !== "object") return escaped(String(part));
  return "text" in part ? part.text : part.map(({ text }) => text).join("");
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

/** Links to a web page. Every other address, for example `javascript:`, is shown as text. */
export function link(address: string, title: string): Html {
  return /^https?:\/\//i.test(address)
    ? markup`<a href="${address}" rel="noreferrer">${title || address}</a>`
    : markup`${title} ${address}`;
}
