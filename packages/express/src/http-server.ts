import type { Logger } from "@svc/context";
import { attachProblems, problemServerOptions } from "@svc/problem";
import { createServer, type Server } from "node:http";
import { watchConnections } from "./close-server.ts";
import type { InFlight } from "./in-flight.ts";
import { cutStalledReaders } from "./stalled-readers.ts";
import type { TunedClasses } from "./tune.ts";

/** Time limits for clients, in seconds. */
export interface ClientTimeouts {
  /** For sending the headers of a request. */
  readonly headersTimeoutSeconds: number;
  /** For sending a whole request, including its body. */
  readonly receiveTimeoutSeconds: number;
  /** For the time between two requests of a connection. */
  readonly keepAliveTimeoutSeconds: number;
  /** For reading the next part of an answer. */
  readonly sendTimeoutSeconds: number;
}

/** Creates a server with deadlines against slow clients; its own error answers are problems too (ERR-21). */
export function createHttpServer(
  inFlight: InFlight,
  timeouts: ClientTimeouts,
  logger: Logger | undefined,
  classes?: TunedClasses,
): Server {
  const server = createServer(
    {
      ...problemServerOptions,
      ...classes,
      headersTimeout: milliseconds(timeouts.headersTimeoutSeconds),
      requestTimeout: milliseconds(timeouts.receiveTimeoutSeconds),
      keepAliveTimeout: milliseconds(timeouts.keepAliveTimeoutSeconds),
      // By default, Node checks its deadlines only every 30 s.
      connectionsCheckingInterval: 500,
    },
    inFlight.listener,
  );
  watchConnections(server);
  cutStalledReaders(server, inFlight, milliseconds(timeouts.sendTimeoutSeconds));
  attachProblems(server, { logger });
  return server;
}

// Node accepts only whole numbers, and 2.3 * 1000 is not exactly 2300.
function milliseconds(seconds: number): number {
  return Math.round(seconds * 1000);
}
