import { createServer } from "node:http";
import { listen, type Listening } from "@svc/test-support";

/** Options of {@link startHollow}. */
export interface HollowOptions {
  /** Response bodies by path, for `GET` only. Default: the four system endpoints. */
  readonly routes?: Readonly<Record<string, unknown>> | undefined;
}

const who = { service: "hollow", version: "1", env: "local" };

/** The system endpoints of a service without any other routes. */
export const systemRoutes: Readonly<Record<string, unknown>> = {
  "/health": { status: "ok", ...who },
  "/ready": { status: "ok", service: "hollow", checks: {} },
  "/info": { ...who, providers: [], plugins: [] },
  "/metrics": { none: true },
};

/** Starts a hand-written service that meets the contract with only these routes. */
export function startHollow({ routes = systemRoutes }: HollowOptions = {}): Promise<Listening> {
  return listen(
    createServer((req, res) => {
      const path = req.url?.split("?", 1)[0] ?? "";
      const id = req.headers["x-request-id"]?.toString() ?? crypto.randomUUID();
      const isKnown = Object.hasOwn(routes, path);
      const status = isKnown ? (req.method === "GET" ? 200 : 405) : 404;
      const problem = {
        type: "about:blank",
        title: status === 404 ? "Not Found" : "Method Not Allowed",
        status,
        detail: "there is no such thing",
        instance: path,
        request_id: id,
      };
      res.writeHead(status, {
        "Content-Type": status === 200 ? "application/json" : "application/problem+json",
        "X-Request-ID": id,
        Allow: "GET",
      });
      res.end(JSON.stringify(status === 200 ? routes[path] : problem));
    }),
  );
}
