/** Replaces the unknown part of a template; the raw path would give an unbounded number of templates. */
export const UNKNOWN = "/<mount>";

// No real application has deeper paths, so the rest of a longer request path is ignored.
const MAX_SEGMENTS = 128;

/** A path as the application's author wrote it, split into segments for comparison with request paths. */
export interface PathTemplate {
  readonly text: string;
  /** The fixed segments in lower case; undefined for a parameter, which matches any non-empty segment. */
  readonly segments: readonly (string | undefined)[];
  /** Whether more segments may follow, because of a wildcard, an optional group or a regular expression. */
  readonly open: boolean;
}

/** The path of a layer or route; undefined if it cannot be reconstructed. */
export type Path = string | RegExp | undefined;

export const ROOT: PathTemplate = { text: "", segments: [], open: false };

/** Returns the paths in one argument of `use`, `get` and so on, which may be a list. */
export function alternatives(path: unknown): readonly Path[] {
  if (Array.isArray(path)) return (path as unknown[]).flatMap(alternatives);
  return [typeof path === "string" || path instanceof RegExp ? path : undefined];
}

/** Appends a mount path to a prefix. Express ignores slashes at the end of a mount path. */
export function mounted(prefix: PathTemplate, path: Path): PathTemplate {
  if (typeof path !== "string") return routed(prefix, path);
  let end = path.length;
  while (path[end - 1] === "/") end--;
  return routed(prefix, path.slice(0, end));
}

/** Appends the path of a route to a prefix. */
export function routed(prefix: PathTemplate, path: Path): PathTemplate {
  if (path === undefined) return { ...prefix, text: prefix.text + UNKNOWN, open: true };
  if (typeof path !== "string") return { ...prefix, text: prefix.text + String(path), open: true };
  if (path === "" || path === "/") return prefix;
  const rooted = path.startsWith("/") || path.startsWith("{/") ? path : `/${path}`;
  const text = prefix.text + rooted;
  if (prefix.open) return { ...prefix, text };
  const segments = [...prefix.segments];
  for (const segment of rooted.replace(/\/$/, "").split("/").slice(1)) {
    // Anything except plain text and named parameters (`:id`, `:from-:to`) may match any number of segments.
    if (rooted.startsWith("{") || /[*{}()?+[\]|\\"]/.test(segment)) return { text, segments, open: true };
    segments.push(segment.includes(":") ? undefined : segment.toLowerCase());
  }
  return { text, segments, open: false };
}

/** Returns the text of a template; the root is `/`. */
export function shown(template: PathTemplate): string {
  return template.text === "" ? "/" : template.text;
}

/** Returns the text of a route whose mount is unknown. */
export function unplaced(path: unknown): string {
  return UNKNOWN + alternatives(path).map(ownText).join("|");
}

function ownText(path: Path): string {
  return path === undefined ? "" : routed(ROOT, path).text;
}

/** Returns the template that matches the path of a URL; of several, the first with the most fixed segments. */
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

/** Returns the number of fixed segments of a template, or -1 if the template does not match the path. */
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
  // The request line of a request to a proxy contains the whole URL: http://host/path.
  const host = url.startsWith("/") ? -1 : url.indexOf("://");
  const start = host === -1 || host > end ? 0 : url.indexOf("/", host + 3);
  if (start === -1 || start >= end) return [];
  const segments = url.slice(start + 1, end).split("/", MAX_SEGMENTS);
  if (segments.at(-1) === "") segments.pop();
  return segments;
}
