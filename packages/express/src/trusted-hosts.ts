import type { Middleware } from "@svc/context";
import { badRequest } from "@svc/problem";
import type { IncomingMessage } from "node:http";

/**
 * Rejects requests for other hosts with a 400 problem (EDGE-3).
 *
 * @param hosts accepted names without port; `*.example.com` accepts every subdomain
 * @param open paths that accept any host, because probes and scrapers use a replica's address
 */
export function trustedHosts(hosts: readonly string[], open: ReadonlySet<string>): Middleware {
  const exact = new Set(hosts.filter((host) => !host.startsWith("*.")).map((host) => host.toLowerCase()));
  const suffixes = hosts.filter((host) => host.startsWith("*.")).map((host) => host.slice(1).toLowerCase());

  function isTrusted(host: string): boolean {
    return exact.has(host) || suffixes.some((suffix) => host.endsWith(suffix) && host.length > suffix.length);
  }

  return function trustedHostsMiddleware(req, _res, next) {
    if (isTrusted(hostOf(req)) || open.has(req.url?.split("?", 1)[0] ?? "")) next();
    else next(badRequest("this host name is not served here", { code: "ERR_SVC_UNTRUSTED_HOST" }));
  };
}

// Express returns X-Forwarded-Host if the proxy is trusted.
function hostOf(req: IncomingMessage): string {
  const { hostname } = req as IncomingMessage & { hostname?: string };
  const host = hostname ?? (req.headers.host ?? "").replace(/:\d+$/, "");
  return host.toLowerCase().replace(/\.$/, "");
}
