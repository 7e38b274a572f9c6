import type { Express, Request, RequestHandler } from "express";
import { requestBytes, type RequestBytes } from "../harness/request-bytes.ts";

/** The route that every case serves. */
export const routePath = "/api/items/:id";

/** Returns the body of the response: 71 bytes of JSON for an id of two digits. */
export function item(id: string): object {
  return { id, name: "a thing with a name!", price: 12.5, tags: ["a", "b"] };
}

/** Adds the route to an application of Express 4 or 5. */
export function addRoute(app: Pick<Express, "get">): void {
  app.get(routePath, (req, res) => {
    res.json(item(req.params.id));
  });
}

/** The last caller and tenant that the handler of a guarded route saw. */
export interface Seen {
  tenant?: string | undefined;
  /** The case's object for the caller; only its identity matters. */
  caller?: unknown;
}

/** Adds the same route behind guards. Its handler reads caller and tenant, as an application does. */
export function addGuardedRoute(
  app: Pick<Express, "get">,
  guards: readonly RequestHandler[],
  seen: Seen,
  read: { tenant(req: Request): string | undefined; caller(req: Request): unknown },
): void {
  app.get<string, { id: string }>(routePath, ...guards, (req, res) => {
    seen.tenant = read.tenant(req as Request);
    seen.caller = read.caller(req as Request);
    res.json(item(req.params.id));
  });
}

/** The requests for a case. */
export interface Traffic {
  readonly requests: readonly RequestBytes[];
  /** The headers of the first request in addition to the usual ones. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * Creates requests with different trace contexts and without a request id, so that the server mints one.
 *
 * @param headers additional headers of each request, which replace usual ones with the same name
 */
export function trafficOf(headers: readonly Readonly<Record<string, string>>[]): Traffic {
  const requests = headers.map((own, index) =>
    requestBytes("GET", urlOf(index), {
      Host: "localhost:8000",
      "User-Agent": "bench/1.0",
      Accept: "application/json",
      traceparent: traceparentOf(index),
      ...own,
    }),
  );
  return { requests, headers: headers[0] ?? {} };
}

/** Sixty-four requests without a token. */
export const openTraffic: Traffic = trafficOf(Array.from({ length: 64 }, () => ({})));

export function urlOf(index: number): string {
  return `/api/items/${10 + (index % 64)}`;
}

function traceparentOf(index: number): string {
  const hex = (0x1a2b3c4d * ((index % 64) + 1)).toString(16).padStart(16, "0").slice(-16);
  return `00-${hex}${hex}-${hex}-01`;
}
