import { once } from "node:events";
import type { Server } from "node:http";
import { Server as NetServer, type Socket } from "node:net";
import type { InFlight } from "./in-flight.ts";

const tickMs = 50;

// Looks at a connection at least this often before it counts as one that says nothing. Turns of the event loop, not
// time: after a long one, what has arrived is read before the next look.
const looks = 10;

const connections = new WeakMap<Server, Set<Socket>>();

/** Remembers the connections of a server, for {@link closeServer}. */
export function watchConnections(server: Server): void {
  const open = new Set<Socket>();
  connections.set(server, open);
  server.on("connection", (socket) => {
    open.add(socket);
    socket.once("close", () => open.delete(socket));
  });
}

/**
 * Takes no more connections and waits for those that are open: each is closed once no request is under way. Not
 * `server.close()`: it cuts what has been handed over with `end()` and is still on its way to a slow reader, and it
 * switches off the deadlines, so that a client that never finishes its request would hold the stop to the last.
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
  // Connections that fall idle from now on linger for their keep-alive time unless they are closed again.
  const timer = setInterval(closeIdle, tickMs);
  await closed;
  clearInterval(timer);
  stopLooking(server);
}

/** Destroys all connections of a server, also those that an upgrade has taken out of its hands. */
export function cutConnections(server: Server): void {
  for (const socket of connections.get(server) ?? []) socket.destroy();
}

// Browsers and load balancers connect ahead of their requests. To Node such a connection is not idle but late with its
// first request: it would hold the stop until the deadline for headers.
function closeSilent(server: Server): void {
  for (const socket of connections.get(server) ?? []) if (socket.bytesRead === 0) socket.destroy();
}

/** Ends the timer by which Node looks at its deadlines: without it a closed server is never collected. */
function stopLooking(server: Server): void {
  const key = Object.getOwnPropertySymbols(server).find(
    ({ description }) => description === "http.server.connectionsCheckingInterval",
  );
  if (key !== undefined) clearInterval((server as Server & Record<symbol, NodeJS.Timeout>)[key]);
}
