/** Text that is HTML already. */
export interface Html {
  readonly text: string;
}

/** What may stand in a template: text is escaped, `false` and undefined are left out. */
export type Part = Html | readonly Html[] | string | number | false | undefined;

/** A piece of HTML; every value in it is escaped for text and for attributes in double quotes. */
export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  return { text: strings.map((text, index) => text + textOf(parts[index])).join("") };
}

function textOf(part: Part): string {
  if (part === undefined || part === false) return "";
  // Values of a row are never objects, so they cannot pass for HTML.
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
