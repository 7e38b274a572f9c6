import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";

/** The connection of an upgrade request, for example to WebSocket. */
export interface Upgrade {
  readonly socket: Duplex;
  /** The first bytes of the new protocol, which arrived together with the request. */
  readonly head: Buffer;
}

const UPGRADE: unique symbol = Symbol.for("@svc/plugin/upgrade") as never;

interface WithUpgrade extends IncomingMessage {
  [UPGRADE]?: Upgrade | undefined;
}

/** Stores the connection of an upgrade request. Called by the server. */
export function setUpgrade(req: IncomingMessage, upgrade: Upgrade): void {
  (req as WithUpgrade)[UPGRADE] = upgrade;
}

/**
 * Returns the connection of an upgrade request, for a middleware that takes it over; undefined for all other requests.
 * Without such a middleware, the service handles the request as an ordinary one.
 */
export function upgradeOf(req: IncomingMessage): Upgrade | undefined {
  return (req as WithUpgrade)[UPGRADE];
}
