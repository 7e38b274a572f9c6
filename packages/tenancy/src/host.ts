import { isSlug } from "./slug.ts";

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

// Outside of ASCII a capital may turn into an ASCII letter: the Kelvin sign becomes a k.
const ASCII = /^[!-~]+$/;
const PORT = /^\d{0,5}$/;

// A label, a domain and a port; whatever is longer is none of them.
const LONGEST_HOST = 512;

/**
 * The tenant that a host names: exactly one label before the base domain, in lower case (TEN-13). The port and one
 * trailing dot do not count.
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
  if (host.length > LONGEST_HOST || !ASCII.test(host)) return undefined;
  let end = host.length;
  const colon = host.lastIndexOf(":");
  if (colon !== -1) {
    if (!PORT.test(host.slice(colon + 1))) return undefined;
    end = colon;
  }
  if (host.charCodeAt(end - 1) === DOT) end -= 1;
  const labelEnd = end - suffix.length;
  if (labelEnd < 1) return undefined;
  const name = host.slice(0, end).toLowerCase();
  if (!name.endsWith(suffix)) return undefined;
  const label = name.slice(0, labelEnd);
  return isSlug(label) && !reserved.has(label) ? label : undefined;
}

const DOT = 0x2e;
