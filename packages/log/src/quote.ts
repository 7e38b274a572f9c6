const plain = /^[ !#-[\]-~]*$/;
// Legal inside a JSON string, but a line break or a command for many who show or split lines.
const unseen = /[\u007f-\u009f\u2028\u2029]/;
const everyUnseen = new RegExp(unseen, "g");

/** A JSON string; only text that needs escaping pays for it. */
export function quote(text: string): string {
  return plain.test(text) ? `"${text}"` : escapeUnseen(JSON.stringify(text));
}

/** Escapes what JSON leaves raw and a terminal or a splitter of lines would act on. */
export function escapeUnseen(json: string): string {
  if (!unseen.test(json)) return json;
  return json.replace(everyUnseen, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
