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

// A label, a domain and a port: whatever is longer is none of them.
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
  const domain = host.slice(labelEnd, end);
  if (domain !== suffix && domain.toLowerCase() !== suffix) return undefined;
  const label = inLowerCase(host.slice(0, labelEnd));
  return isSlug(label) && !reserved.has(label) ? label : undefined;
}

// Outside of ASCII a capital may turn into an ASCII letter: the Kelvin sign becomes a k.
function inLowerCase(label: string): string {
  return LETTERS.test(label) ? label.toLowerCase() : label;
}

const LETTERS = /^[A-Za-z0-9-]+$/;

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
const DOT = 0x2e;
const ZERO = 0x30;
const NINE = 0x39;
