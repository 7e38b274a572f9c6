/** Paths of the service itself, which probes, scrapers and tools request. */
const FRAMEWORK_PATHS = ["/health", "/ready", "/info", "/metrics", "/openapi.json", "/docs"];

/** Returns a function that checks whether a path equals one of the paths, or is below one of them in whole segments. */
export function exemptPaths(more: readonly string[]): (path: string) => boolean {
  const all = [...FRAMEWORK_PATHS, ...more];
  return (path) => all.some((each) => isWithin(path, each)) && !AMBIGUOUS.test(path);
}

/** Matches a path that a proxy or a handler may resolve to another path. */
const AMBIGUOUS = /\/\/|\\|%2e|%2f|%5c|\/\.{1,2}(?:\/|$)/i;

const SLASH = 0x2f;

function isWithin(path: string, exempt: string): boolean {
  return (
    path.startsWith(exempt) && (path.length === exempt.length || path.charCodeAt(exempt.length) === SLASH)
  );
}
