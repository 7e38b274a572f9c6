/** A value as a message shows it: short, on one line, and without anything that looks like a token. */
export function show(value: unknown): string {
  const text = value === undefined ? "nothing" : (JSON.stringify(value) ?? typeof value);
  return short(text);
}

// Three parts of base64url: a service that repeats a token must not have it repeated once more by a report.
const token = /\b[\w-]{10,}\.[\w-]{10,}\.[\w-]*/g;

export function short(text: string, longest = 160): string {
  const clean = text
    .replaceAll(token, "<token>")
    // Control characters, those that turn the direction of a line, and what XML does not allow.
    .replaceAll(/[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069\ufffe\uffff]+/gu, " ")
    .toWellFormed();
  return clean.length > longest ? `${clean.slice(0, longest).toWellFormed()}...` : clean;
}
