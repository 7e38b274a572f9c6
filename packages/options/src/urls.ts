/**
 * Returns whether a string is a server URL, with a host and with user and password percent-encoded.
 *
 * @param path pattern of the allowed paths. Default: no path.
 */
export function isServerUrl(text: string, path = /^\/?$/): boolean {
  try {
    const { username, password, hostname, pathname } = new URL(text);
    decodeURIComponent(username + password);
    return hostname !== "" && path.test(pathname);
  } catch {
    return false;
  }
}

/** Returns whether a string is the origin of an HTTP server: without path, query and user-info. */
export function isHttpOrigin(text: string): boolean {
  if (!URL.canParse(text) || /[?#@\s\\]/.test(text)) return false;
  const { protocol, pathname } = new URL(text);
  return /^https?:$/.test(protocol) && pathname === "/" && /^https?:\/\/[^/]/i.test(text);
}
