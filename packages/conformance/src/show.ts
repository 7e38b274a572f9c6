/** Formats a value for a message: short, on one line, without tokens. */
export function show(value: unknown): string {
  const text = value === undefined ? "nothing" : (JSON.stringify(value) ?? typeof value);
  return short(text);
}

// Three base64url parts: hides a token that the service echoes.
const token = /\b[\w-]{10,}\.[\w-]{10,}\.[\w-]*/g;

export function short(text: string, longest = 160): string {
  const clean = text
    .replaceAll(token, "<token>")
    // Control characters, those that change the direction of text, and those that XML forbids.
    .replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffe\uffff]+/gu, " ")
    .toWellFormed();
  return clean.length > longest ? `${clean.slice(0, longest).toWellFormed()}...` : clean;
}
