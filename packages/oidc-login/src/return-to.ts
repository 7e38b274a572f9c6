/** The maximum length of a path in a login cookie. */
export const LONGEST_RETURN_TO = 1024;

// The base for parsing a path as a URL. The package never requests it.
const ORIGIN = "https://this-site.invalid";

/**
 * Returns the path to redirect to after a sign-in (OIDC-8), with query and fragment, normalised as a browser does. Returns
 * undefined for a value that a browser could read as another site.
 */
export function localPath(value: string): string | undefined {
  // A browser drops tabs and line ends and reads `\` as `/`, so what looks like a path may name another host.
  // oxlint-disable-next-line no-control-regex -- this pattern finds control characters
  if (value.length > LONGEST_RETURN_TO || /[\u0000-\u0020\u007f\\]/.test(value)) return undefined;
  if (!value.startsWith("/") || value.startsWith("//")) return undefined;
  const url = URL.parse(value, ORIGIN);
  if (url === null || url.origin !== ORIGIN) return undefined;
  const path = url.pathname + url.search + url.hash;
  // `/.//host` is a path, but it is normalised to `//host`, which names a host.
  return path.startsWith("//") || path.length > LONGEST_RETURN_TO ? undefined : path;
}
