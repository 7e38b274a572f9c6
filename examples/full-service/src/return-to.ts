const longest = 1024;
/** Never asked for; it only completes a path to an address. */
const somewhere = "https://this-site.invalid";

/** Where people go who wanted nowhere else. */
export const home = "/account";

/**
 * Where to go after a sign-in: a path of this site with its query, or undefined for everything that a browser could take
 * for another site. The rule is that of `return_to` of `@svc/oidc-login`.
 */
export function localPath(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length > longest) return undefined;
  // A browser drops tabs and line ends and reads `\` as `/`, so what looks like a path may be a host.
  // oxlint-disable-next-line no-control-regex -- these are what must not be there
  if (!/^\/(?!\/)/.test(value) || /[\u0000-\u0020\u007f\\]/.test(value)) return undefined;
  const url = URL.parse(value, somewhere);
  if (url?.origin !== somewhere) return undefined;
  const path = url.pathname + url.search + url.hash;
  // `/.//host` is a path, but what it is shortened to is not.
  return path.startsWith("//") || path.length > longest ? undefined : path;
}

/** The address of the sign-in page for somebody who wants to go on from there, and whose session may just have ended. */
export function signInAddress(returnTo: string, hasEnded: boolean): string {
  const query = new URLSearchParams();
  if (returnTo !== home) query.set("return_to", returnTo);
  if (hasEnded) query.set("ended", "1");
  return query.size === 0 ? "/sign-in" : `/sign-in?${query.toString()}`;
}
