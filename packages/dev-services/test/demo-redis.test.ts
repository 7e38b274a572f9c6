import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { demoFolder, demoRedis, freePort, startRedis, testProgram } from "@svc/dev-services";
import { expect } from "chai";
import { redisCommands } from "../src/redis-command.ts";
import { rejection } from "./support/rejection.ts";

describe("demoRedis", function () {
  this.timeout(60_000);
  const redis = testProgram("redis");
  let checkout: string;
  let env: NodeJS.ProcessEnv;
  beforeEach(() => {
    checkout = mkdtempSync(join(tmpdir(), "svc-checkout-"));
    env = { PATH: join(redis.path, "..") };
  });
  afterEach(() => {
    for (const folder of [demoFolder(checkout), checkout]) rmSync(folder, { recursive: true, force: true });
  });

  it("PORT-7 listens on the service's port + 3, and keeps the data of the checkout between runs", async () => {
    const servicePort = (await freePort()) - 3;
    const options = { checkout, servicePort, env };
    const demo = await demoRedis(options);
    expect(demo?.url).to.equal(`redis://127.0.0.1:${servicePort + 3}`);
    expect(demo?.description).to.equal(
      `Redis on port ${servicePort + 3}, data in ${join(demoFolder(checkout), "redis")}`,
    );
    expect(await redisCommands(demo?.url ?? "", [["SET", "kept", "yes"]])).to.deep.equal(["+OK"]);
    await demo?.stop();
    await using again = await demoRedis(options);
    expect(await redisCommands(again?.url ?? "", [["EXISTS", "kept"]])).to.deep.equal([":1"]);
  });

  it("PORT-5 PORT-7 rejects when another process uses the service's port + 3", async () => {
    const server = createServer().listen(await freePort(), "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as { port: number };
    const { message } = await rejection(demoRedis({ checkout, servicePort: port - 3, env }));
    expect(message).to.equal(
      `port ${port} on 127.0.0.1, needed for Redis, is taken; stop the process that uses it, or set SVC_PORT`,
    );
    server.close();
  });

  it("PORT-7 returns undefined when no Redis is on PATH", async () => {
    const servicePort = (await freePort()) - 3;
    expect(await demoRedis({ checkout, servicePort, env: { PATH: checkout } })).to.equal(undefined);
  });

  it("uses the server at REDIS_URL, and rejects when it does not respond, without its password", async () => {
    await using server = await startRedis();
    const options = { checkout, servicePort: 1, env: { REDIS_URL: server.url } };
    const demo = await demoRedis(options);
    expect([demo?.url, demo?.description]).to.deep.equal([server.url, "the Redis server at REDIS_URL"]);
    await demo?.stop();
    expect(await redisCommands(server.url, [["PING"]])).to.deep.equal(["+PONG"]);
    const REDIS_URL = `redis://:hunter2@127.0.0.1:${await freePort()}`;
    const { message } = await rejection(demoRedis({ ...options, env: { REDIS_URL } }));
    expect(message).to.contain("REDIS_URL names redis://").and.to.contain("does not answer within 5 s");
    expect(message).not.to.contain("hunter2");
  });
});
