import type { Server } from "node:http";
import type { Socket } from "node:net";
import type { InFlight } from "./in-flight.ts";

/**
 * Cuts connections of clients that stop reading their answer, which would otherwise keep the connection and the unsent data
 * forever. Keeps a connection without unsent data, even when its handler or event stream is silent for long.
 */
export function cutStalledReaders(server: Server, inFlight: InFlight, sendTimeoutMs: number): void {
  server.timeout = sendTimeoutMs;
  // Node emits this event for a connection without traffic for that time, and closes it only without a listener.
  server.on("timeout", (socket: Socket) => {
    if (socket.writableLength > 0 || !inFlight.isAnswering(socket)) socket.destroy();
  });
}
