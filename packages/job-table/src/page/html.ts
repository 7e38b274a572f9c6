/** Escaped HTML. */
export interface Html {
  readonly text: string;
}

/** A value in a template. Strings are escaped; `false` and undefined are omitted. */
export type Part = Html | readonly Html[] | string | number | false | undefined;

/** Builds HTML. Escapes every value, for text and for double-quoted attributes. */
export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { text: strings.map((text, index) => text + textOf(parts[index])).join("") };
}

function textOf(part: Part): string {
  if (part === undefined || part === false) return "";
  // Values from the database are never objects, so none can pass as escaped HTML.
  if (typeof part !== "object") return escaped(String(part));
  return "text" in part ? part.text : part.map(({ text }) => text).join("\n");
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? "");
}
