import { expect } from "chai";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { type AddressInfo, createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import type { PoolClient } from "pg";
import { requestCancel } from "../src/cancel.ts";

const REQUEST = "0000001004d2162e0000002afffffff9";

describe("requestCancel()", () => {
  let server: Server;
  let folder: string;
  beforeEach(async () => {
    server = createServer({ allowHalfOpen: true });
    folder = await mkdtemp(join(tmpdir(), "cancel-"));
  });
  afterEach(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });

  const clientOf = (members: object): PoolClient =>
    ({ processID: 42, secretKey: -7, ...members }) as unknown as PoolClient;

  async function received(client: PoolClient): Promise<string> {
    const connection = once(server, "connection") as Promise<[Socket]>;
    requestCancel(client, 15_000);
    const [socket] = await connection;
    const bytes = await buffer(socket);
    socket.destroy();
    return bytes.toString("hex");
  }

  it("sends process id and secret key to the address that the connection reached", async () => {
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const stream = { remoteAddress: "127.0.0.1", remotePort: port };
    // A name may stand for several servers, so requestCancel() uses the name only if it is the folder of a socket.
    const client = clientOf({ host: "several.invalid", port: 1, connection: { stream } });
    expect(await received(client)).to.equal(REQUEST);
  });

  it("sends process id and secret key to the server's Unix socket if the connection uses one", async () => {
    await once(server.listen(join(folder, ".s.PGSQL.5432")), "listening");
    expect(await received(clientOf({ host: folder, port: 5432, connection: { stream: {} } }))).to.equal(
      REQUEST,
    );
  });

  it("closes its connection at the time limit if the server does not", async () => {
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const connection = once(server, "connection") as Promise<[Socket]>;
    const stream = { remoteAddress: "127.0.0.1", remotePort: port };
    requestCancel(clientOf({ connection: { stream } }), 10);
    const [socket] = await connection;
    const ended = new Promise((resolve) => socket.once("close", resolve));
    socket.on("error", () => undefined);
    socket.resume();
    // The connection is half open: the server keeps its side, so a write fails only if the client was destroyed.
    const writes = setInterval(() => socket.write("x"), 10);
    await ended;
    clearInterval(writes);
  });

  it("opens no connection without an address or a key, and ignores a refused connection", async () => {
    let connections = 0;
    server.on("connection", (socket) => {
      connections += 1;
      socket.destroy();
    });
    await once(server.listen(0, "127.0.0.1"), "listening");
    const { port } = server.address() as AddressInfo;
    const stream = { remoteAddress: "127.0.0.1", remotePort: port };
    for (const members of [
      { host: "127.0.0.1", port },
      { processID: undefined, connection: { stream } },
      { secretKey: null, connection: { stream } },
    ]) {
      requestCancel(clientOf(members), 15_000);
    }
    requestCancel(clientOf({ connection: { stream: { ...stream, remotePort: 1 } } }), 15_000);
    // The only request that connects is the last one, so all earlier ones would have arrived before it.
    const last = once(server, "connection");
    requestCancel(clientOf({ connection: { stream } }), 15_000);
    await last;
    expect(connections).to.equal(1);
  });
});
