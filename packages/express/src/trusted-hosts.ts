import type { Middleware } from "@svc/context";
import { badRequest } from "@svc/problem";
import type { IncomingMessage } from "node:http";

// Whoever probes a replica does so by its address.
const probes = new Set(["/health", "/ready"]);

/**
 * Refuses requests for hosts that this service does not answer for, with a 400 problem (EDGE-*). Probes are exempt.
 *
 * @param hosts names without a port; `*.example.com` means every name below it
 */
export function trustedHosts(hosts: readonly string[]): Middleware {
  const exact = new Set(hosts.filter((host) => !host.startsWith("*.")).map((host) => host.toLowerCase()));
  const suffixes = hosts.filter((host) => host.startsWith("*.")).map((host) => host.slice(1).toLowerCase());

  function isTrusted(host: string): boolean {
    return exact.has(host) || suffixes.some((suffix) => host.endsWith(suffix) && host.length > suffix.length);
  }

  return function trustedHostsMiddleware(req, _res, next) {
    if (isTrusted(hostOf(req)) || probes.has(req.url?.split("?", 1)[0] ?? "")) next();
    else next(badRequest("this host name is not served here", { code: "ERR_SVC_UNTRUSTED_HOST" }));
  };
}

// Express answers with X-Forwarded-Host where the proxy may say so.
function hostOf(req: IncomingMessage): string {
  const { hostname } = req as IncomingMessage & { hostname?: string };
  const host = hostname ?? (req.headers.host ?? "").replace(/:\d+$/, "");
  return host.toLowerCase().replace(/\.$/, "");
}
