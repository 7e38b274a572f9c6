import type { IncomingMessage } from "node:http";

const HEADER = "authorization";
const SPACE = 32;
// "bearer" in lower case; a letter differs from its capital by one bit, and nothing else comes near these six.
const SCHEME = [98, 101, 97, 114, 101, 114] as const;
const CASE_BIT = 32;

/**
 * The token of `Authorization: Bearer <token>` (AUTH-33): undefined when there is none or another scheme, `""` when the
 * header is there and cannot be right: no token, several, or a repeated header, of which a proxy in front may have
 * read the other one. The name of the scheme may be in any case. One pass, whatever was sent.
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
    // As nearly everybody writes it first: a comparison makes no string.
    if (name !== "Authorization" && name.toLowerCase() !== HEADER) continue;
    if (seen) return true;
    seen = true;
  }
  return false;
}
