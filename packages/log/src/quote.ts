const plain = /^[ !#-[\]-~]*$/;
// JSON strings may contain these characters, but terminals and line splitters treat them as commands or line breaks.
const unseen = /[\u007f-\u009f\u2028\u2029]/;
const everyUnseen = new RegExp(unseen, "g");

/** Returns a string as JSON, with a fast path when nothing needs escaping. */
export function quote(text: string): string {
  return plain.test(text) ? `"${text}"` : escapeUnseen(JSON.stringify(text));
}

/** Escapes the characters that JSON leaves raw but terminals and line splitters interpret. */
export function escapeUnseen(json: string): string {
  if (!unseen.test(json)) return json;
  return json.replace(everyUnseen, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
