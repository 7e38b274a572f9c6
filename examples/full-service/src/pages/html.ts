/** Text that is HTML already. */
export interface Html {
  readonly text: string;
}

/** A value in a template: text is escaped; false and undefined are left out. */
export type Part = Html | readonly Html[] | string | number | false | undefined;

/** Returns HTML in which every value is escaped for text and for attributes in double quotes. */
export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Html {
  const pieces = strings.map((text, index) => text + markupOf(parts[index]));
  return { text: pieces.join("") };
}

function markupOf(part: Part): string {
  if (part === undefined || part === false) return "";
  // Text from a client is a string and never an object, so it is always escaped.
  if (typeof part !== "object") return escapeText(String(part));
  return "text" in part ? part.text : part.map(({ text }) => text).join("\n");
}

const entities: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
};

function escapeText(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? "");
}
