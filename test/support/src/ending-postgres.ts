import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

/** Returns a message of the PostgreSQL protocol. */
function message(type: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(type, 0);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

const HANDSHAKE_AND_END = Buffer.concat([
  message("R", Buffer.alloc(4)),
  message("Z", Buffer.from("I")),
  message("E", Buffer.from("SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0")),
]);

/** A fake PostgreSQL server. Disposal closes it. */
export interface EndingPostgres extends AsyncDisposable {
  readonly port: number;
}

/**
 * Starts a fake PostgreSQL server that terminates connections: it sends the end of the handshake and its last error in one
 * packet. A real server sends both when it dies right after a handshake, but not always in one packet.
 */
export async function startEndingPostgres(): Promise<EndingPostgres> {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(HANDSHAKE_AND_END));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}
