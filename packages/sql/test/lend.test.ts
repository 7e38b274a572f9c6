import { EventEmitter } from "node:events";
import { lend, withTransaction } from "@svc/sql";
import { rejection, startEndingPostgres } from "@svc/test-support";
import { expect } from "chai";
import { Pool } from "pg";

describe("lend", () => {
  it("does not end the process when the server ends a connection in the same packet as the handshake", async () => {
    await using server = await startEndingPostgres();
    const pool = new Pool({ host: "127.0.0.1", port: server.port, user: "any" });
    pool.on("error", () => undefined);

    const connection = await lend(pool);
    expect(await rejection(connection.query("select 1"))).to.be.an("error");
    connection.release(true);
    expect(await rejection(withTransaction(pool, (tx) => tx.query("select 1")))).to.be.an("error");

    await pool.end();
  });

  it("adds one listener to a pool, and accepts a pool that emits no events", async () => {
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
