import type { Logger } from "@svc/context";
import { attachProblems, problemServerOptions } from "@svc/problem";
import { createServer, type Server } from "node:http";
import { watchConnections } from "./close-server.ts";
import type { InFlight } from "./in-flight.ts";
import { cutStalledReaders } from "./stalled-readers.ts";
import type { TunedClasses } from "./tune.ts";

/** How long a client may take, in seconds. */
export interface ClientTimeouts {
  /** To send the head of a request. */
  readonly headersTimeoutSeconds: number;
  /** To send a whole request, its body included. */
  readonly receiveTimeoutSeconds: number;
  /** Between two requests of a connection. */
  readonly keepAliveTimeoutSeconds: number;
  /** To take the next part of an answer. */
  readonly sendTimeoutSeconds: number;
}

/** A server that slow clients cannot hold, and whose own answers are problems too (ERR-21). */
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
      // Node looks at its deadlines every 30 s unless told otherwise.
      connectionsCheckingInterval: 500,
    },
    inFlight.listener,
  );
  watchConnections(server);
  cutStalledReaders(server, inFlight, milliseconds(timeouts.sendTimeoutSeconds));
  attachProblems(server, { logger });
  return server;
}

// Node takes whole numbers only, and 2.3 * 1000 is none.
function milliseconds(seconds: number): number {
  return Math.round(seconds * 1000);
}
