/** The longest path that a login cookie carries. */
export const LONGEST_RETURN_TO = 1024;

// Never asked for; it only completes a path to an address.
const ORIGIN = "https://this-site.invalid";

/**
 * Where to go after a sign-in (OIDC-8): a path of this site with its query and fragment, written as a browser would; or
 * undefined for everything that a browser could take for another site.
 */
export function localPath(value: string): string | undefined {
  // A browser drops tabs and line ends and reads `\` as `/`, so what looks like a path may be a host.
  // oxlint-disable-next-line no-control-regex -- these are what must not be there
  if (value.length > LONGEST_RETURN_TO || /[\u0000-\u0020\u007f\\]/.test(value)) return undefined;
  if (!value.startsWith("/") || value.startsWith("//")) return undefined;
  const url = URL.parse(value, ORIGIN);
  if (url === null || url.origin !== ORIGIN) return undefined;
  const path = url.pathname + url.search + url.hash;
  // `/.//host` is a path, but what it is shortened to is not.
  return path.startsWith("//") || path.length > LONGEST_RETURN_TO ? undefined : path;
}
