/** Labels before the base domain that name no tenant by default (TEN-13). */
export const RESERVED_SUBDOMAINS: readonly string[] = Object.freeze([
  "www",
  "api",
  "app",
  "admin",
  "static",
  "assets",
  "cdn",
  "mail",
  "ftp",
  "localhost",
]);

// Enough for a label, a domain and a port; a longer host names no tenant.
const LONGEST_HOST = 512;

// A slug in either case, the domain after it, a trailing dot and a port. Only ASCII: toLowerCase() turns the Kelvin sign,
// for example, into an ASCII k.
const HOST = /^([A-Za-z0-9][A-Za-z0-9-]{0,62})(\.[^:]*?)\.?(?::\d{0,5})?$/;

/**
 * Returns the tenant that a host names: the single label before the base domain, in lower case (TEN-13). Ignores the port
 * and one trailing dot.
 *
 * @param host the host as sent by the client, with or without a port
 * @param suffix a dot and the base domain, in lower case
 * @param reserved labels that name no tenant
 */
export function tenantInHost(
  host: string,
  suffix: string,
  reserved: ReadonlySet<string>,
): string | undefined {
  if (host.length > LONGEST_HOST) return undefined;
  const [, given = "", domain = ""] = HOST.exec(host) ?? [];
  const label = given.toLowerCase();
  return label === "" || domain.toLowerCase() !== suffix || reserved.has(label) ? undefined : label;
}

// Maximum number of entries in the cache of parsed hosts; each is at most LONGEST_HOST characters long.
const KEPT_HOSTS = 1000;

/** Returns {@link tenantInHost} for one suffix, with a cache of its results. */
export function hostReader(
  suffix: string,
  reserved: ReadonlySet<string>,
): (host: string) => string | undefined {
  const known = new Map<string, string>();
  return function tenantOfHost(host) {
    const tenant = known.get(host);
    if (tenant !== undefined) return tenant;
    const read = tenantInHost(host, suffix, reserved);
    // Clear the cache when it is full: requests with many different hosts make it useless but cannot grow it.
    if (read !== undefined) {
      if (known.size >= KEPT_HOSTS) known.clear();
      known.set(host, read);
    }
    return read;
  };
}
