/** What is served without a tenant even where every request needs one (TEN-16). */
export const EXEMPT_PATHS: readonly string[] = Object.freeze([
  "/health",
  "/ready",
  "/info",
  "/metrics",
  "/docs",
  "/openapi.json",
  "/.well-known/*",
  "POST /auth/refresh",
  "/auth/:provider/start",
  "/auth/:provider/callback",
]);

const LITERAL = "[A-Za-z0-9._~!$&'()+,;=@-]+";

/** How an exempt path is written. */
export const EXEMPT_PATH: RegExp = new RegExp(
  `^(?:[A-Z]{1,20} )?/(?:(?:${LITERAL}|:[A-Za-z]+)(?:/(?:${LITERAL}|:[A-Za-z]+))*(?:/\\*)?)?$`,
);

interface Exempt {
  readonly method: string | undefined;
  /** Undefined where any one segment will do. */
  readonly segments: readonly (string | undefined)[];
  /** Whether one more segment or several must follow. */
  readonly open: boolean;
}

/**
 * Whether a request may do without a tenant. Segments are compared as they were sent, case, slashes and all: a form
 * that one router takes for `/health` and another for a route of its own is not exempt.
 *
 * @param paths `/docs`, `POST /auth/refresh`, `/auth/:provider/start` (any one segment), `/.well-known/*` (any number)
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

// Nothing that anybody on the way may decode, resolve or take for a slash.
function isPlain(segment: string): boolean {
  return segment !== "." && segment !== ".." && PLAIN.test(segment);
}
