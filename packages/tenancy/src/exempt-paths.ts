/** Paths that need no tenant, even with the option `requireTenant` (TEN-16). */
export const EXEMPT_PATHS: readonly string[] = Object.freeze([
  "/health",
  "/ready",
  "/info",
  "/metrics",
  "/docs",
  // The page's own files only: an application may have routes below /docs.
  "/docs/docs.css",
  "/docs/docs.js",
  "/openapi.json",
  "/.well-known/*",
  "POST /auth/refresh",
  "/auth/:provider/start",
  "/auth/:provider/callback",
]);

const LITERAL = "[A-Za-z0-9._~!$&'()+,;=@-]+";

/** Syntax of an entry of `exemptPaths`. */
export const EXEMPT_PATH: RegExp = new RegExp(
  `^(?:[A-Z]{1,20} )?/(?:(?:${LITERAL}|:[A-Za-z]+)(?:/(?:${LITERAL}|:[A-Za-z]+))*(?:/\\*)?)?$`,
);

interface Exempt {
  readonly method: string | undefined;
  /** One entry per segment; undefined matches any segment. */
  readonly segments: readonly (string | undefined)[];
  /** Whether the path ends in `/*`: one or more segments must follow. */
  readonly open: boolean;
}

/**
 * Returns the predicate for requests that need no tenant. It compares segments exactly as sent, including case and extra
 * slashes: a form such as `//health`, which routers read differently, is not exempt.
 *
 * @param paths such as `/docs`, `POST /auth/refresh`, `/auth/:provider/start` (any one segment), `/.well-known/*` (one or
 *   more segments)
 */
export function exemption(paths: readonly string[]): (method: string, target: string) => boolean {
  const exempts = paths.map(parsed);
  return function isExempt(method, target) {
    if (!target.startsWith("/")) return false;
    const query = target.indexOf("?");
    const segments = (query === -1 ? target : target.slice(0, query)).slice(1).split("/");
    return exempts.some((exempt) => fits(exempt, method, segments));
  };
}

function parsed(text: string): Exempt {
  const space = text.indexOf(" ");
  const segments = text
    .slice(space + 2)
    .split("/")
    .map((segment) => (segment.startsWith(":") ? undefined : segment));
  const open = segments.at(-1) === "*";
  if (open) segments.pop();
  return { method: space === -1 ? undefined : text.slice(0, space), segments, open };
}

function fits({ method: only, segments, open }: Exempt, method: string, sent: readonly string[]): boolean {
  if (only !== undefined && only !== method) return false;
  if (open ? sent.length <= segments.length : sent.length !== segments.length) return false;
  return sent.every((each, index) => {
    const wanted = segments[index];
    return wanted === undefined ? isPlain(each) : wanted === each;
  });
}

const PLAIN = /^[A-Za-z0-9._~!$&'()+,;=:@-]+$/;

// Returns false for a segment that a proxy or router may decode, resolve or read as a slash.
function isPlain(segment: string): boolean {
  return segment !== "." && segment !== ".." && PLAIN.test(segment);
}
