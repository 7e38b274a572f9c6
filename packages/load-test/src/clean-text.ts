/**
 * Returns a string from the service that is safe to print: without the token, without control characters, which a terminal
 * would obey, and with at most 200 characters.
 */
export function cleanText(text: string, token: string | undefined): string {
  const hidden = hideToken(text, token).replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, " ");
  return hidden.length > 200 ? `${hidden.slice(0, 199)}…` : hidden;
}

/** Replaces every occurrence of the token in a string, also as it is written in a URL, a form and JSON. */
export function hideToken(text: string, token: string | undefined): string {
  if (token === undefined) return text;
  const form = new URLSearchParams({ "": token }).toString().slice(1);
  const forms = new Set([token, encodeURIComponent(token), form, JSON.stringify(token).slice(1, -1)]);
  return [...forms].reduce((hidden, each) => hidden.replaceAll(each, "[token]"), text);
}
