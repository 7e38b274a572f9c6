import { BlockList, isIP, isIPv4 } from "node:net";
import type { IncomingMessage } from "node:http";

/**
 * Returns whether the proxy with an address is trusted; `hop` 0 is the peer of the socket. Express's `trust proxy fn` has
 * this type.
 */
export type Trust = (address: string, hop: number) => boolean;

// The names that Express accepts for `trust proxy`.
const NAMED: Readonly<Record<string, readonly string[]>> = {
  loopback: ["127.0.0.1/8", "::1/128"],
  linklocal: ["169.254.0.0/16", "fe80::/10"],
  uniquelocal: ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7"],
};

/** Returns a function for a list of addresses, ranges and names; undefined if an entry is something else. */
export function trustOf(proxies: readonly string[]): Trust | undefined {
  const list = new BlockList();
  const entries = proxies.flatMap((each) => (Object.hasOwn(NAMED, each) ? (NAMED[each] ?? []) : [each]));
  if (!entries.every((each) => add(list, each))) return undefined;
  return (address) => {
    const plain = plainAddress(address);
    return isIP(plain) !== 0 && list.check(plain, isIPv4(plain) ? "ipv4" : "ipv6");
  };
}

function add(list: BlockList, entry: string): boolean {
  const [address = "", bits, more] = entry.split("/");
  const version = isIP(address);
  if (version === 0 || more !== undefined) return false;
  const family = version === 4 ? "ipv4" : "ipv6";
  if (bits === undefined) list.addAddress(address, family);
  else if (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128)) {
    list.addSubnet(address, Number(bits), family);
  } else return false;
  return true;
}

/** Returns an IPv4 address that a dual-stack socket reports as IPv6 in its usual form. */
export function plainAddress(address: string): string {
  return address.startsWith("::ffff:") && address.includes(".") ? address.slice(7) : address;
}

interface WithApp extends IncomingMessage {
  readonly app?: { get?(name: string): unknown } | undefined;
}

/** Returns whether the peer of a request's socket may set `X-Forwarded-*`. */
export function isFromTrustedProxy(req: IncomingMessage, trust: Trust | undefined): boolean {
  const isTrusted = trust ?? (req as WithApp).app?.get?.("trust proxy fn");
  return typeof isTrusted === "function" && (isTrusted as Trust)(req.socket.remoteAddress ?? "", 0);
}
