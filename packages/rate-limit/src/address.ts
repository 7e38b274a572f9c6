import type { IncomingMessage } from "node:http";
import { isIP, isIPv4 } from "node:net";

interface WithIp extends IncomingMessage {
  /** The client's address in Express, according to the setting `trust proxy`. */
  readonly ip?: unknown;
}

/**
 * Returns the network of the client: an IPv4 address, or the first 64 bits of an IPv6 address, because one customer usually
 * has that many addresses. Behind trusted proxies (Express's `trust proxy`), returns the network of the client that they
 * name, or of the proxy if they name none.
 */
export function clientNetwork(req: IncomingMessage): string {
  const peer = networkOf(req.socket.remoteAddress ?? "") ?? "unknown";
  // Without the header, Express's `ip` is the peer's address too.
  if (req.headers["x-forwarded-for"] === undefined) return peer;
  const { ip } = req as WithIp;
  return (typeof ip === "string" ? networkOf(withoutPort(ip)) : undefined) ?? peer;
}

/** Removes the port that some proxies append, because each connection would otherwise count as a separate client. */
function withoutPort(text: string): string {
  return /^\[([^\]]*)\](?::\d+)?$/.exec(text)?.[1] ?? /^(\d+\.\d+\.\d+\.\d+):\d+$/.exec(text)?.[1] ?? text;
}

/** Returns the network of an address; undefined for a string that is not an address. */
export function networkOf(address: string): string | undefined {
  const version = isIP(address);
  if (version === 4) return address;
  if (version === 0) return undefined;
  const groups = groupsOf(address);
  const [, , , , , sixth, seventh = 0, eighth = 0] = groups;
  // A dual-stack socket reports IPv4 clients in this form.
  if (sixth === 0xffff && groups.slice(0, 5).every((group) => group === 0)) {
    return [seventh >> 8, seventh & 255, eighth >> 8, eighth & 255].join(".");
  }
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(":")}::/64`;
}

/** Returns the eight groups of a valid IPv6 address. */
function groupsOf(address: string): readonly number[] {
  const [plain = ""] = address.split("%");
  const [head = "", tail] = plain.split("::");
  const before = numbersOf(head);
  if (tail === undefined) return before;
  const after = numbersOf(tail);
  const zeros = Array.from({ length: 8 - before.length - after.length }, () => 0);
  return [...before, ...zeros, ...after];
}

function numbersOf(part: string): readonly number[] {
  if (part === "") return [];
  return part.split(":").flatMap((group) => {
    if (!isIPv4(group)) return [parseInt(group, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = group.split(".").map(Number);
    return [(a << 8) | b, (c << 8) | d];
  });
}
