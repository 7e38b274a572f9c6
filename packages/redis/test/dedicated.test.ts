import { type RedisServer, startRedis, testProgram } from "@svc/dev-services";
import { createRedis, type DedicatedConnection, NotConnectedError, openDedicated } from "@svc/redis";
import { rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { Redis } from "ioredis";

const TIMES = { connectTimeoutMs: 15_000, silentMs: 30_000 } as const;
const pop = (connection: DedicatedConnection, seconds: number): Promise<unknown> =>
  connection.send((client) => client.blpop("list", seconds));

describe("openDedicated", function () {
  this.timeout(60_000);
  testProgram("redis");
  let server: RedisServer;
  before(async () => {
    server = await startRedis();
  });
  after(() => server.stop());

  it("runs a blocking command without delaying a shared connection, and rejects the command on close()", async () => {
    await using shared = createRedis({ url: server.url, commandTimeoutMs: 15_000 });
    const connection = openDedicated(server.url, TIMES);
    const first = pop(connection, 0);
    await shared.call("rpush", "list", "value");
    expect(await first).to.deep.equal(["list", "value"]);
    const second = pop(connection, 0).catch((error: unknown) => error);
    expect(await shared.call("ping")).to.equal("PONG");
    connection.close();
    expect(await second).to.be.instanceOf(Error);
    expect(await rejection(pop(connection, 0))).to.be.instanceOf(NotConnectedError);
  });

  it("copies the settings of the caller's client, and neither uses nor closes the client", async () => {
    const client = new Redis(server.url, { db: 3, keyPrefix: "c:", lazyConnect: true });
    const connection = openDedicated(client, TIMES);
    expect(connection.keyPrefix).to.equal("c:");
    expect(await connection.send((own) => own.client("INFO"))).to.match(/ db=3 /);
    connection.close();
    expect(client.status).to.equal("wait");
  });

  it("rejects commands immediately while Redis is down, and connects when Redis is up again", async () => {
    const connection = openDedicated(server.url, TIMES);
    expect(await connection.send((client) => client.ping())).to.equal("PONG");
    await server.kill();
    try {
      await until("the loss is noticed", async () => {
        const error: unknown = await connection
          .send((client) => client.ping())
          .catch((reason: unknown) => reason);
        return error instanceof NotConnectedError && error.failure === "ECONNREFUSED";
      });
      const stopping = new AbortController();
      const waits = connection.connected(stopping.signal);
      stopping.abort();
      await waits;
    } finally {
      await server.restart();
    }
    await connection.connected(AbortSignal.timeout(30_000));
    expect(await connection.send((client) => client.ping())).to.equal("PONG");
    connection.close();
  });

  it("replaces the connection on renew()", async () => {
    const connection = openDedicated(server.url, TIMES);
    const id = await connection.send((client) => client.client("ID"));
    connection.renew();
    await until("there is another", async () => {
      const other = await connection.send((client) => client.client("ID")).catch(() => id);
      return other !== id;
    });
    connection.close();
  });
});
