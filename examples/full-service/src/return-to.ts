const longest = 1024;
/** The base for parsing a path as a URL; no request is sent to it. */
const somewhere = "https://this-site.invalid";

/** The page after a sign-in without `return_to`. */
export const home = "/account";

/**
 * Returns the page to open after a sign-in: a path of this site with its query, or undefined for a value that a browser
 * could interpret as another site. `@svc/oidc-login` has the same rule for `return_to`.
 */
export function localPath(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > longest) return undefined;
  // A browser drops tabs and line ends and reads `\` as `/`, so an apparent path may contain a host.
  // oxlint-disable-next-line no-control-regex -- these characters are refused
  if (!/^\/(?!\/)/.test(value) || /[\u0000-\u0020\u007f\\]/.test(value)) return undefined;
  const url = URL.parse(value, somewhere);
  if (url?.origin !== somewhere) return undefined;
  const path = url.pathname + url.search + url.hash;
  // `/.//host` is a path, but its normalized form is not.
  return path.startsWith("//") || path.length > longest ? undefined : path;
}

/**
 * Returns the path of the sign-in page, from which a sign-in leads to `returnTo`. With `hasEnded` the page states that the
 * session has ended.
 */
export function signInAddress(returnTo: string, hasEnded: boolean): string {
  const query = new URLSearchParams();
  if (returnTo !== home) query.set("return_to", returnTo);
  if (hasEnded) query.set("ended", "1");
  return query.size === 0 ? "/sign-in" : `/sign-in?${query.toString()}`;
}
