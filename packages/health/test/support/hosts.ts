import { createServer, type RequestListener } from "node:http";
import type { Middleware } from "@svc/context";
import { expressMajors } from "@svc/test-support";

/** Status with which every host responds to a request that the middleware passes to `next()`. */
export const PASSED_ON = 418;

/**
 * Returns listeners that run the middleware on a bare server and on both majors of Express, each with a handler that
 * responds with 418.
 */
export function hosts(middleware: Middleware): Readonly<Record<string, RequestListener>> {
  const listeners: Record<string, RequestListener> = {
    "bare http": (req, res) =>
      middleware(req, res, (err) => {
        res.statusCode = err === undefined ? PASSED_ON : 500;
        res.end();
      }),
  };
  for (const [name, express] of Object.entries(expressMajors)) {
    const app = express();
    app.use(middleware);
    app.use((_req, res) => res.status(PASSED_ON).end());
    listeners[name] = app;
  }
  return listeners;
}

/** Creates a bare server with the middleware, for tests that do not depend on the host. */
export function bare(middleware: Middleware): ReturnType<typeof createServer> {
  return createServer(hosts(middleware)["bare http"]);
}
