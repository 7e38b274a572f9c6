import type { Request } from "express";

/** The query string as it is: the two majors of Express parse one differently. */
export function queryOf({ originalUrl }: Request): URLSearchParams {
  const query = originalUrl.indexOf("?");
  return new URLSearchParams(query === -1 ? "" : originalUrl.slice(query + 1));
}
