import { SearchError } from "../errors.ts";

const SHOWN = 60;
const PLAIN = /^[A-Za-z_][A-Za-z0-9_]{0,59}$/;

/** Returns the position of a key in a filter: `filter.and[2].price`, `filter["a key with spaces"]`. */
export function under(place: string, key: string): string {
  if (PLAIN.test(key)) return `${place}.${key}`;
  return `${place}[${JSON.stringify(key.length > SHOWN ? `${key.slice(0, SHOWN)}...` : key)}]`;
}

/** Returns an error with the position and without the value, which may be confidential. */
export function wrong(place: string, fault: string): SearchError {
  return new SearchError("ERR_SVC_SEARCH_FILTER", `${place} ${fault}`);
}
