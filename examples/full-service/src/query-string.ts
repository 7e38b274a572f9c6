import type { Request } from "express";

/** Returns the unparsed query string, because the two majors of Express parse it differently. */
export function queryOf({ originalUrl }: Request): URLSearchParams {
  const query = originalUrl.indexOf("?");
  return new URLSearchParams(query === -1 ? "" : originalUrl.slice(query + 1));
}
