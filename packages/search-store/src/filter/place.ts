import { SearchError } from "../errors.ts";

const SHOWN = 60;
const PLAIN = /^[A-Za-z_][A-Za-z0-9_]{0,59}$/;

/** Where in a filter a key is: `filter.and[2].price`, `filter["a key with spaces"]`. */
export function under(place: string, key: string): string {
  if (PLAIN.test(key)) return `${place}.${key}`;
  return `${place}[${JSON.stringify(key.length > SHOWN ? `${key.slice(0, SHOWN)}...` : key)}]`;
}

/** The error names the place and never shows a value: that may be somebody's data. */
export function wrong(place: string, fault: string): SearchError {
  return new SearchError("ERR_SVC_SEARCH_FILTER", `${place} ${fault}`);
}
