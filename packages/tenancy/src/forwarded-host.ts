import type { IncomingMessage } from "node:http";

/** The members of a request of Express that it reads. */
interface ProxiedRequest extends IncomingMessage {
  readonly app: { get(setting: string): unknown };
  readonly ips: readonly string[];
}

type Trust = (address: string | undefined, hop: number) => boolean;

/**
 * Returns the host name that the outermost trusted proxy received, or the header `Host` without a trusted proxy. Express's
 * `hostname` is the first of several values, which a client may have sent to a proxy that appends its own value.
 */
export function forwardedHost(req: IncomingMessage): string | undefined {
  const { app, headers, ips, socket } = req as ProxiedRequest;
  const said = headers["x-forwarded-host"];
  const isTrusted = app.get("trust proxy fn") as Trust;
  if (said === undefined || said === "" || !isTrusted(socket.remoteAddress, 0)) return headers.host;
  const hosts = String(said).split(",");
  // Every trusted proxy has appended a value, or the last one has replaced all values.
  const proxies = Math.max(1, ips.length);
  return hosts[Math.max(0, hosts.length - proxies)]?.trim();
}
