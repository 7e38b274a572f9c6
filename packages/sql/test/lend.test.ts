import { EventEmitter, once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { lend, withTransaction } from "@svc/sql";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import { Pool } from "pg";

const message = (type: string, body: Buffer): Buffer => {
  const head = Buffer.alloc(5);
  head.write(type, 0);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
};

/** Handshake and shutdown error in one packet; a real server does not do this on request. */
const GREETING_AND_END = Buffer.concat([
  message("R", Buffer.alloc(4)),
  message("Z", Buffer.from("I")),
  message("E", Buffer.from("SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0")),
]);

describe("lend", () => {
  it("survives a server that ends a connection in the packet of its handshake", async () => {
    const fake = createServer((socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => socket.end(GREETING_AND_END));
    });
    fake.listen(0, "127.0.0.1");
    await once(fake, "listening");
    const pool = new Pool({ host: "127.0.0.1", port: (fake.address() as AddressInfo).port, user: "any" });
    pool.on("error", () => undefined);

    const connection = await lend(pool);
    expect(await rejection(connection.query("select 1"))).to.be.an("error");
    connection.release(true);
    expect(await rejection(withTransaction(pool, (tx) => tx.query("select 1")))).to.be.an("error");

    await pool.end();
    fake.close();
  });

  it("adds one listener to a pool, and accepts a pool without events", async () => {
    const pool = new Pool({ host: "127.0.0.1", port: 1 });
    const silent = {
      connect: () => Promise.resolve({ query: () => Promise.reject(new Error("no")), release() {} }),
    };
    for (let time = 0; time < 3; time++) {
      await lend(pool).then(
        (connection) => connection.release(),
        () => undefined,
      );
      expect(await lend(silent)).to.have.property("query");
    }
    expect(pool.listenerCount("connect")).to.equal(1);
    await pool.end();
  });

  it("adds one listener to a connection that a pool lends in a new wrapper each time", async () => {
    const client = new EventEmitter();
    const pool = {
      connect: () =>
        Promise.resolve({
          on: client.on.bind(client),
          listeners: client.listeners.bind(client),
          query: () => Promise.reject(new Error("no")),
          release() {},
        }),
    };
    for (let time = 0; time < 3; time++) (await lend(pool)).release();
    expect(client.listenerCount("error")).to.equal(1);
  });
});
