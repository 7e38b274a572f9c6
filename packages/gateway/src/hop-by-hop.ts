/** Headers that apply to one connection only (RFC 9110, section 7.6.1). */
export const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

/**
 * Returns the header names in a `Connection` header, in lower case; undefined if it has only the usual values, which name
 * no other header.
 */
export function connectionTokens(
  value: string | readonly string[] | undefined,
): ReadonlySet<string> | undefined {
  if (value === undefined || value === "keep-alive" || value === "close") return undefined;
  const text = typeof value === "string" ? value : value.join(",");
  return new Set(
    text
      .toLowerCase()
      .split(",")
      .map((token) => token.trim()),
  );
}
