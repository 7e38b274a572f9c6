import {
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  ServerResponse,
} from "node:http";
import type { Duplex } from "node:stream";
import type { Socket } from "node:net";
import { setUpgrade } from "@svc/plugin";
import { badRequest, sendProblem } from "@svc/problem";

/**
 * Makes Node handle an upgrade request for a protocol other than WebSocket as an ordinary request: clients such as
 * `curl --http2` offer h2c in every request, and a server may ignore the offer (RFC 9110, section 7.8). Versions of Node
 * before 22.21 and 24.9 ignore this option; the connection then closes after the response.
 */
export const upgradeOptions: Pick<ServerOptions, "shouldUpgradeCallback"> = {
  shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket",
};

/**
 * Passes upgrade requests to the listener like all others, so that they have a request id, a log line and a caller, and
 * count as in flight. A middleware may take over their connection with `upgradeOf(req)`; otherwise the connection closes
 * after the response, because Node no longer reads requests from it.
 */
export function acceptUpgrades(server: Server, listener: RequestListener): void {
  server.on("upgrade", (req: IncomingMessage, socket: Duplex, head: Buffer) => {
    // Node removes its own listener, and an error without one would end the process.
    socket.on("error", () => socket.destroy());
    const res = new ServerResponse(req) as ServerResponse & { req: IncomingMessage };
    res.shouldKeepAlive = false;
    res.assignSocket(socket as Socket);
    res.once("finish", () => socket.end());
    let isClosed = false;
    res.once("close", () => (isClosed = true));
    // A middleware that takes over the connection detaches the response from it.
    socket.once("close", () => isClosed || res.emit("close"));
    // Node has not read the body, so its bytes would be treated as part of the new protocol.
    const { "content-length": length = "0", "transfer-encoding": encoding } = req.headers;
    if (length !== "0" || encoding !== undefined) {
      sendProblem(req, res, badRequest("a request that asks for another protocol must have no body"));
      return;
    }
    setUpgrade(req, { socket, head });
    listener(req, res);
  });
}
