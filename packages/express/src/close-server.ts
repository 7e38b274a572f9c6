import { once } from "node:events";
import type { Server } from "node:http";
import { Server as NetServer } from "node:net";
import type { InFlight } from "./in-flight.ts";

const tickMs = 50;

/**
 * Takes no more connections and waits for those that are open: each is closed once no request is under way. Not
 * `server.close()`: it cuts what has been handed over with `end()` and is still on its way to a slow reader, and it
 * switches off the deadlines, so that a client that never finishes its request would hold the stop to the last.
 */
export async function closeServer(server: Server, inFlight: InFlight): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, "close");
  NetServer.prototype.close.call(server);
  const closeIdle = (): void => {
    if (inFlight.size === 0) server.closeIdleConnections();
  };
  closeIdle();
  // Connections that fall idle from now on linger for their keep-alive time unless they are closed again.
  const timer = setInterval(closeIdle, tickMs);
  await closed;
  clearInterval(timer);
  stopLooking(server);
}

/** Ends the timer by which Node looks at its deadlines: without it a closed server is never collected. */
function stopLooking(server: Server): void {
  const key = Object.getOwnPropertySymbols(server).find(
    ({ description }) => description === "http.server.connectionsCheckingInterval",
  );
  if (key !== undefined) clearInterval((server as Server & Record<symbol, NodeJS.Timeout>)[key]);
}
