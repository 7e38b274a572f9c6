import { testRedis } from "@svc/dev-services";
import { createRedis, type RedisConnection } from "@svc/redis";
import { createRedisTokenStore } from "@svc/token-store/redis";
import { tokenStoreCases } from "@svc/token-store/testing";
import { Redis } from "ioredis";

describe("createRedisTokenStore in the token store suite, on two connections", () => {
  const server = testRedis();
  const clients: Redis[] = [];
  before(
    () => void clients.push(new Redis(server.url), new Redis(server.url, { enableAutoPipelining: true })),
  );
  after(() => clients.splice(0).forEach((client) => client.disconnect()));

  const storeOn = (index: number) => {
    const redis = clients[index];
    if (redis === undefined) throw new Error("not connected");
    return createRedisTokenStore({ redis, keyPrefix: `${server.keyPrefix}svc:auth:`, timeoutMs: 15_000 });
  };
  const cases = tokenStoreCases({ create: () => storeOn(0), createReplica: () => storeOn(1) });
  for (const { name, run } of cases) it(name, run);
});

describe("createRedisTokenStore in the token store suite, on guarded connections", () => {
  const server = testRedis();
  const connections: RedisConnection[] = [];
  before(() => {
    // The first connection opens its own client, the second uses the caller's client.
    const client = new Redis(server.url);
    const options = { commandTimeoutMs: 15_000, connectTimeoutMs: 15_000 };
    connections.push(createRedis({ url: server.url, ...options }));
    connections.push(createRedis({ client, closeClient: true, ...options }));
  });
  after(() => Promise.all(connections.splice(0).map((connection) => connection.stop())));

  const storeOn = (index: number) => {
    const redis = connections[index];
    if (redis === undefined) throw new Error("not connected");
    return createRedisTokenStore({ redis, keyPrefix: `${server.keyPrefix}svc:guarded:`, timeoutMs: 15_000 });
  };
  const cases = tokenStoreCases({ create: () => storeOn(0), createReplica: () => storeOn(1) });
  for (const { name, run } of cases) it(name, run);
});
