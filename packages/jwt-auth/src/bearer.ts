import type { IncomingMessage } from "node:http";
import { isOfThisOrigin } from "@svc/context";

const HEADER = "authorization";
const SPACE = 32;
// The character codes of "bearer". A lower-case letter differs from its capital only in the bit CASE_BIT, and setting
// this bit turns no other character into one of these letters.
const SCHEME = [98, 101, 97, 114, 101, 114] as const;
const CASE_BIT = 32;

/**
 * Returns the token of `Authorization: Bearer <token>` (AUTH-33), with the scheme in any case. Returns undefined without the
 * header or with another scheme. Returns `""` for an invalid header: no token, several tokens, or a repeated header, since a
 * proxy may have used the other value. Takes linear time on any input.
 */
export function bearerToken(req: IncomingMessage): string | undefined {
  const header = req.headers.authorization;
  if (header === undefined) return undefined;
  if (isRepeated(req.rawHeaders)) return "";
  if (!isBearer(header)) return undefined;
  let start = SCHEME.length;
  while (header.charCodeAt(start) === SPACE) start += 1;
  return header.includes(" ", start) ? "" : header.slice(start);
}

function isBearer(header: string): boolean {
  for (let index = 0; index < SCHEME.length; index++) {
    if ((header.charCodeAt(index) | CASE_BIT) !== SCHEME[index]) return false;
  }
  return header.length === SCHEME.length || header.charCodeAt(SCHEME.length) === SPACE;
}

function isRepeated(rawHeaders: readonly string[]): boolean {
  let seen = false;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index];
    if (name?.length !== HEADER.length) continue;
    // Compare the usual letter case first: toLowerCase() would create a string for every header.
    if (name !== "Authorization" && name.toLowerCase() !== HEADER) continue;
    if (seen) return true;
    seen = true;
  }
  return false;
}

const SAFE_METHODS: ReadonlySet<string | undefined> = new Set(["GET", "HEAD", "OPTIONS"]);

/**
 * Returns whether a request may be authenticated by credentials that browsers send automatically: it has a safe method,
 * or it comes from a page of this origin (AUTH-34).
 */
export function mayCarryCookies(req: IncomingMessage): boolean {
  return SAFE_METHODS.has(req.method) || isOfThisOrigin(req);
}
