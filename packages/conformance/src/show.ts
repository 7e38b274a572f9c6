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
    // oxlint-disable-next-line no-control-regex -- exactly these must not reach a terminal
    .replaceAll(/[\u0000-\u001f\u007f-\u009f]+/g, " ");
  return clean.length > longest ? `${clean.slice(0, longest)}...` : clean;
}
