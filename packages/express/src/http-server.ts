import type { Logger } from "@svc/context";
import { attachProblems, problemServerOptions } from "@svc/problem";
import { createServer, type Server } from "node:http";
import type { Socket } from "node:net";
import { watchConnections } from "./close-server.ts";
import type { InFlight } from "./in-flight.ts";
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

/**
 * Cuts connections of clients that stop reading their answer, which would otherwise keep the connection and the unsent data
 * forever. Keeps a connection without unsent data, even when its handler or event stream is silent for long.
 */
function cutStalledReaders(server: Server, inFlight: InFlight, sendTimeoutMs: number): void {
  server.timeout = sendTimeoutMs;
  // Node emits this event for a connection without traffic for that time, and closes it only without a listener.
  server.on("timeout", (socket: Socket) => {
    if (socket.writableLength > 0 || !inFlight.isAnswering(socket)) socket.destroy();
  });
}

// Node accepts only whole numbers, and 2.3 * 1000 is not exactly 2300.
function milliseconds(seconds: number): number {
  return Math.round(seconds * 1000);
}
