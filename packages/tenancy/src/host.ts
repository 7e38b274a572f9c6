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

/**
 * Returns the tenant that a host names: the single label before the base domain, in lower case (TEN-13). Ignores the
 * port and one trailing dot.
 *
 * @param host as a client sent it, with or without a port
 * @param suffix a dot and the base domain, in lower case
 * @param reserved labels that name no tenant
 */
export function tenantInHost(
  host: string,
  suffix: string,
  reserved: ReadonlySet<string>,
): string | undefined {
  if (host.length > LONGEST_HOST) return undefined;
  const colon = host.lastIndexOf(":");
  let end = host.length;
  if (colon !== -1) {
    if (!isPort(host, colon + 1)) return undefined;
    end = colon;
  }
  if (host.charCodeAt(end - 1) === DOT) end -= 1;
  const labelEnd = end - suffix.length;
  if (labelEnd < 1 || labelEnd > LONGEST_LABEL) return undefined;
  if (!host.endsWith(suffix, end) && host.slice(labelEnd, end).toLowerCase() !== suffix) return undefined;
  const label = labelOf(host, labelEnd);
  return label === undefined || reserved.has(label) ? undefined : label;
}

// Most entries of the cache of parsed hosts; each is at most LONGEST_HOST characters long.
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
    // Clear the cache when it is full: a client that sends ever new hosts only loses its benefit.
    if (read !== undefined) {
      if (known.size >= KEPT_HOSTS) known.clear();
      known.set(host, read);
    }
    return read;
  };
}

/** Returns the text before `end` in lower case when it is a slug. One pass, because every request runs it. */
function labelOf(host: string, end: number): string | undefined {
  let hasCapital = false;
  for (let index = 0; index < end; index++) {
    const code = host.charCodeAt(index);
    // Only ASCII capitals: toLowerCase() turns the Kelvin sign, for example, into an ASCII k.
    if (code >= UPPER_A && code <= UPPER_Z) hasCapital = true;
    else if (!isSlugCode(code, index)) return undefined;
  }
  const label = host.slice(0, end);
  return hasCapital ? label.toLowerCase() : label;
}

function isSlugCode(code: number, index: number): boolean {
  return (
    (code >= LOWER_A && code <= LOWER_Z) || (code >= ZERO && code <= NINE) || (code === DASH && index > 0)
  );
}

function isPort(host: string, start: number): boolean {
  if (host.length - start > LONGEST_PORT) return false;
  for (let index = start; index < host.length; index++) {
    const code = host.charCodeAt(index);
    if (code < ZERO || code > NINE) return false;
  }
  return true;
}

const LONGEST_LABEL = 63;
const LONGEST_PORT = 5;
const DASH = 0x2d;
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
const UPPER_A = 0x41;
const UPPER_Z = 0x5a;
const LOWER_A = 0x61;
const LOWER_Z = 0x7a;
