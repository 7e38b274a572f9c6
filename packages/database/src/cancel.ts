import { connect } from "node:net";
import type { PoolClient } from "pg";

const LENGTH = 16;
/** The code of a CancelRequest in PostgreSQL's protocol. */
const CANCEL = 80_877_102;

interface Internals {
  readonly host?: unknown;
  readonly port?: unknown;
  readonly processID?: unknown;
  readonly secretKey?: unknown;
  readonly connection?: {
    readonly stream?: { readonly remoteAddress?: unknown; readonly remotePort?: unknown };
  };
}

/**
 * Asks the server to cancel the connection's current statement. PostgreSQL takes this request on a new connection, without a
 * login and without TLS. Does nothing if the server's address is unknown, and ignores all errors.
 *
 * @param timeoutMs time limit of the request
 */
export function requestCancel(client: PoolClient, timeoutMs: number): void {
  const { processID, secretKey } = client as Internals;
  const address = addressOf(client as Internals);
  if (address === undefined || typeof processID !== "number" || typeof secretKey !== "number") return;
  const request = Buffer.alloc(LENGTH);
  request.writeInt32BE(LENGTH, 0);
  request.writeInt32BE(CANCEL, 4);
  request.writeInt32BE(processID, 8);
  request.writeInt32BE(secretKey, 12);
  const socket = connect(address);
  socket.unref();
  socket.on("error", () => undefined);
  const timer = setTimeout(() => socket.destroy(), timeoutMs);
  timer.unref();
  socket.once("close", () => clearTimeout(timer));
  socket.end(request);
}

/** Returns the address that the connection reached: its host name may stand for several servers. */
function addressOf({
  host,
  port,
  connection,
}: Internals): { host: string; port: number } | { path: string } | undefined {
  const { remoteAddress, remotePort } = connection?.stream ?? {};
  if (typeof remoteAddress === "string" && typeof remotePort === "number") {
    return { host: remoteAddress, port: remotePort };
  }
  const isSocket = typeof host === "string" && host.startsWith("/");
  return isSocket ? { path: `${host}/.s.PGSQL.${String(port)}` } : undefined;
}
