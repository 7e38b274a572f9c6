import type { Logger } from "@svc/context";
import { attachProblems, problemServerOptions } from "@svc/problem";
import { createServer, type Server, type ServerOptions } from "node:http";
import type { Socket } from "node:net";
import { watchConnections } from "./close-server.ts";
import type { InFlight } from "./in-flight.ts";
import type { TunedClasses } from "./tune.ts";

/** Time limits for clients, in seconds. */
export interface ClientTimeouts {
  /** Time limit for sending a request's headers. */
  readonly headersTimeoutSeconds: number;
  /** Time limit for sending a whole request, including its body. */
  readonly receiveTimeoutSeconds: number;
  /** Maximum time between two requests on a connection. */
  readonly keepAliveTimeoutSeconds: number;
  /** Time limit for reading the next chunk of a response. */
  readonly sendTimeoutSeconds: number;
}

/** Creates a server with deadlines for slow clients. Its own error responses are problem documents too (ERR-21). */
export function createHttpServer(
  inFlight: InFlight,
  timeouts: ClientTimeouts,
  logger: Logger | undefined,
  classes?: TunedClasses,
  more: Pick<ServerOptions, "shouldUpgradeCallback"> = {},
): Server {
  const server = createServer(
    {
      ...problemServerOptions,
      ...classes,
      ...more,
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

/**
 * Cuts connections of clients that stop reading their response, because they would keep the connection and the unsent
 * data forever. Keeps a connection without unsent data while its handler or event stream is silent, and closes one
 * without a request.
 */
function cutStalledReaders(server: Server, inFlight: InFlight, sendTimeoutMs: number): void {
  server.timeout = sendTimeoutMs;
  // Node emits this event when a connection has had no traffic for `sendTimeoutMs` or, between two requests, for the
  // keep-alive time. It closes the connection only if there is no listener.
  server.on("timeout", (socket: Socket) => {
    if (socket.writableLength > 0 || !inFlight.isAnswering(socket)) socket.destroy();
  });
}

// Node accepts only whole numbers, and 2.3 * 1000 is not exactly 2300.
function milliseconds(seconds: number): number {
  return Math.round(seconds * 1000);
}
