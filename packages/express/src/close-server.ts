import { once } from "node:events";
import type { Server } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import type { InFlight } from "./in-flight.ts";

const tickMs = 50;

// A connection counts as silent after this many checks. Checks and not time, so that data that arrived during an event-loop
// stall is read first.
const looks = 10;

const connections = new WeakMap<Server, Set<Socket>>();

/** Tracks the connections of a server for {@link closeServer}. */
export function watchConnections(server: Server): void {
  const open = new Set<Socket>();
  connections.set(server, open);
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
}

/**
 * Accepts no more connections, and closes each open one when it has no request in progress. It does not use
 * `server.close()`, which cuts answers that a slow client is still reading, and switches off the deadlines, so that a
 * client with an unfinished request would delay the stop until its timeout.
 */
export async function closeServer(server: Server, inFlight: InFlight): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, "close");
  NetServer.prototype.close.call(server);
  let turn = 0;
  const closeIdle = (): void => {
    if (inFlight.size === 0) server.closeIdleConnections();
    if (turn++ === looks) closeSilent(server);
  };
  closeIdle();
  // Repeat this, because a connection that becomes idle later would stay open for its keep-alive time.
  const timer = setInterval(closeIdle, tickMs);
  await closed;
  clearInterval(timer);
  stopLooking(server);
}

/** Destroys all connections of a server, including upgraded ones. */
export function cutConnections(server: Server): void {
  for (const socket of connections.get(server) ?? []) socket.destroy();
}

// Browsers and load balancers open connections in advance. Node does not count such a connection as idle, so it would delay
// the stop until the deadline for headers.
function closeSilent(server: Server): void {
  for (const socket of connections.get(server) ?? []) if (socket.bytesRead === 0) socket.destroy();
}

/** Stops Node's timer for its deadlines, which would keep a closed server from being garbage collected. */
function stopLooking(server: Server): void {
  const key = Object.getOwnPropertySymbols(server).find(
    ({ description }) => description === "http.server.connectionsCheckingInterval",
  );
  if (key !== undefined) clearInterval((server as Server & Record<symbol, NodeJS.Timeout>)[key]);
}
