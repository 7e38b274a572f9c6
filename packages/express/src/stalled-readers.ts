import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { InFlight } from "./in-flight.ts";

/**
 * Cuts connections of clients that take nothing of their answer: without this one that never reads would hold its
 * connection, and all that waits to be sent, for ever. A connection on which nothing is due is left alone, however
 * long its handler or its stream of events is silent.
 */
export function cutStalledReaders(server: Server, inFlight: InFlight, sendTimeoutMs: number): void {
  server.timeout = sendTimeoutMs;
  // Node tells of a connection on which no byte has moved for that long, and closes it only where nobody listens.
  server.on("timeout", (socket: Socket) => {
    if (socket.writableLength > 0 || !inFlight.isAnswering(socket)) socket.destroy();
  });
}
