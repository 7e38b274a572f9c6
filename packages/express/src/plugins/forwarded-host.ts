import type { IncomingMessage } from "node:http";
import type { Request } from "express";

type Trust = (address: string | undefined, hop: number) => boolean;

/**
 * The host that the outermost trusted proxy was called by; the header `Host` where no trusted proxy says. Express's
 * `hostname` is the first of several values, which a client may have sent to a proxy that adds its own behind it.
 */
export function forwardedHost(req: IncomingMessage): string | undefined {
  const { app, headers, ips, socket } = req as Request;
  const said = headers["x-forwarded-host"];
  const isTrusted = app.get("trust proxy fn") as Trust;
  if (said === undefined || said === "" || !isTrusted(socket.remoteAddress, 0)) return headers.host;
  const hosts = String(said).split(",");
  // Every trusted proxy has added one, or the last one has put one in the place of all.
  const proxies = Math.max(1, ips.length);
  return hosts[Math.max(0, hosts.length - proxies)]?.trim();
}
