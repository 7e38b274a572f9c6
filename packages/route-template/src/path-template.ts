/** Stands for the part of a template that cannot be known. Never the raw path: that would be unbounded. */
const UNKNOWN = "/<mount>";

// No path of a real application is deeper; a longer one that a caller sends is not looked at any further.
const MAX_SEGMENTS = 128;

/**
 * A path as the application's author wrote it, with what is needed to compare it with the path of a request.
 */
export interface PathTemplate {
  readonly text: string;
  /** What a segment must be, in lower case; undefined where it may be anything. */
  readonly segments: readonly (string | undefined)[];
  /** Anything may follow the segments: there is a wildcard, an optional group or a regular expression. */
  readonly open: boolean;
}

/** What a layer or a route may be given as its path; undefined when it cannot be read back. */
export type Path = string | RegExp | undefined;

export const ROOT: PathTemplate = { text: "", segments: [], open: false };

/** The paths that one argument of `use`, `get` and so on stands for. */
export function alternatives(path: unknown): readonly Path[] {
  if (Array.isArray(path)) return (path as unknown[]).flatMap(alternatives);
  return [typeof path === "string" || path instanceof RegExp ? path : undefined];
}

/** A prefix followed by the path of a mount. Mounts take no notice of slashes at their end. */
export function mounted(prefix: PathTemplate, path: Path): PathTemplate {
  if (typeof path !== "string") return routed(prefix, path);
  let end = path.length;
  while (path[end - 1] === "/") end--;
  return routed(prefix, path.slice(0, end));
}

/** A prefix followed by the path of a route. */
export function routed(prefix: PathTemplate, path: Path): PathTemplate {
  if (path === undefined) return { ...prefix, text: prefix.text + UNKNOWN, open: true };
  if (typeof path !== "string") return { ...prefix, text: prefix.text + String(path), open: true };
  if (path === "" || path === "/") return prefix;
  const rooted = path.startsWith("/") || path.startsWith("{/") ? path : `/${path}`;
  const text = prefix.text + rooted;
  if (prefix.open) return { ...prefix, text };
  const segments = [...prefix.segments];
  for (const segment of rooted.replace(/\/$/, "").split("/").slice(1)) {
    // Whatever is neither plain text nor one named segment (`:id`, `:from-:to`) may match any number of
    // segments.
    if (rooted.startsWith("{") || /[*{}()?+[\]|\\"]/.test(segment)) return { text, segments, open: true };
    segments.push(segment.includes(":") ? undefined : segment.toLowerCase());
  }
  return { text, segments, open: false };
}

/** How a template is shown: the root is `/`. */
export function shown(template: PathTemplate): string {
  return template.text === "" ? "/" : template.text;
}

/** What is shown when only the route's own path is known. */
export function unplaced(path: unknown): string {
  return UNKNOWN + alternatives(path).map(ownText).join("|");
}

function ownText(path: Path): string {
  return path === undefined ? "" : routed(ROOT, path).text;
}

/** The one of the templates that fits the path of a URL with the most fixed segments; the first of equals. */
export function bestMatch(templates: readonly PathTemplate[], url: string): PathTemplate | undefined {
  const path = segmentsOf(url);
  let best: PathTemplate | undefined;
  let bestFixed = -1;
  for (const template of templates) {
    const fixed = fixedSegments(template, path);
    if (fixed > bestFixed) {
      best = template;
      bestFixed = fixed;
    }
  }
  return best;
}

/** How many fixed segments of the template the path has; -1 when it does not fit. */
function fixedSegments({ segments, open }: PathTemplate, path: readonly string[]): number {
  if (open ? path.length < segments.length : path.length !== segments.length) return -1;
  let fixed = 0;
  for (let index = 0; index < segments.length; index++) {
    const wanted = segments[index];
    const given = path[index];
    if (wanted === undefined ? given === "" : wanted !== given && wanted !== given?.toLowerCase()) return -1;
    if (wanted !== undefined) fixed++;
  }
  return fixed;
}

function segmentsOf(url: string): string[] {
  const query = url.indexOf("?");
  const end = query === -1 ? url.length : query;
  // A request to a proxy names the whole URL: http://host/path.
  const host = url.startsWith("/") ? -1 : url.indexOf("://");
  const start = host === -1 || host > end ? 0 : url.indexOf("/", host + 3);
  if (start === -1 || start >= end) return [];
  const segments = url.slice(start + 1, end).split("/", MAX_SEGMENTS);
  if (segments.at(-1) === "") segments.pop();
  return segments;
}
