import { once } from "node:events";
import type { Server } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import type { InFlight } from "./in-flight.ts";

const tickMs = 50;

// Connections that have sent no data are closed after this many checks. Checks are counted, not timed, so that after an
// event-loop stall Node first reads the data that has arrived.
const looks = 10;

const connections = new WeakMap<Server, Set<Socket>>();

/** Tracks a server's connections for {@link closeServer}. */
export function watchConnections(server: Server): void {
  const open = new Set<Socket>();
  connections.set(server, open);
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
}

/**
 * Stops accepting connections, and closes idle connections while no request is in progress on any connection. Does not
 * use `server.close()`, which has two faults: it cuts responses that a slow client is still reading, and it switches off
 * the deadlines, so that a client with an unfinished request would delay the stop until the stop's time limit.
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
  // Close idle connections repeatedly: one that becomes idle during the stop would stay open for its keep-alive time.
  const timer = setInterval(closeIdle, tickMs);
  await closed;
  clearInterval(timer);
  stopLooking(server);
}

/** Destroys all of a server's connections, including upgraded ones. */
export function cutConnections(server: Server): void {
  for (const socket of connections.get(server) ?? []) socket.destroy();
}

// Browsers and load balancers open connections in advance. Node does not count them as idle, so they would delay the
// stop until the deadline for headers.
function closeSilent(server: Server): void {
  for (const socket of connections.get(server) ?? []) if (socket.bytesRead === 0) socket.destroy();
}

/**
 * Stops the timer with which Node checks its deadlines, because it would keep a closed server from being garbage
 * collected.
 */
function stopLooking(server: Server): void {
  const key = Object.getOwnPropertySymbols(server).find(
    ({ description }) => description === "http.server.connectionsCheckingInterval",
  );
  if (key !== undefined) clearInterval((server as Server & Record<symbol, NodeJS.Timeout>)[key]);
}
