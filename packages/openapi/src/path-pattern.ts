/** A path of a described route: fixed segments and parameters. */
export interface PathPattern {
  /** The path in the document: `/items/{id}`. */
  readonly template: string;
  readonly names: readonly string[];
  /**
   * Returns the decoded parameters of a path; undefined if the path does not match. Ignores the letter case
   * of fixed segments and one trailing slash, as Express does.
   *
   * @throws URIError for a parameter that cannot be decoded
   */
  match(path: string): Record<string, string> | undefined;
}

const FIXED = /^[\w.~!$&'()+,;=@%-]+$/;
const PARAMETER = /^:[A-Za-z_]\w*$/;

/**
 * Compiles a path.
 *
 * @throws TypeError for a path that does not consist of fixed segments and parameters
 */
export function pathPattern(path: string): PathPattern {
  const segments = path === "/" ? [] : path.slice(1).split("/");
  const isValid =
    path.startsWith("/") && segments.every((segment) => PARAMETER.test(segment) || FIXED.test(segment));
  const names = segments.filter((segment) => segment.startsWith(":")).map((segment) => segment.slice(1));
  if (!isValid || new Set(names).size < names.length) {
    throw new TypeError(
      `route(): path must consist of fixed segments and parameters with different names, such as /items/:id; got ${JSON.stringify(path)}`,
    );
  }
  const fixed = segments.map((segment) => (segment.startsWith(":") ? undefined : segment.toLowerCase()));

  function match(given: string): Record<string, string> | undefined {
    // Compare first, because most requests write a path without parameters exactly as the route does.
    if (given === path && names.length === 0) return {};
    const params: Record<string, string> = {};
    let at = 0;
    for (const [index, segment] of fixed.entries()) {
      if (given[at] !== "/") return undefined;
      const slash = given.indexOf("/", at + 1);
      const end = slash === -1 ? given.length : slash;
      if (end === at + 1) return undefined;
      const text = given.slice(at + 1, end);
      if (segment === undefined) params[segments[index]?.slice(1) ?? ""] = text;
      else if (segment !== text && segment !== text.toLowerCase()) return undefined;
      at = end;
    }
    if (at < given.length && !(at === given.length - 1 && given[at] === "/")) return undefined;
    // Decode only after the match, because decoding may fail for the path of another route.
    for (const name of names) params[name] = decodeURIComponent(params[name] ?? "");
    return params;
  }

  return { template: path.replaceAll(/:(\w+)/g, "{$1}"), names, match };
}
