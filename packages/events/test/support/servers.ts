import { type RedisServer, startRedis, testNats, type TestNats, testProgram } from "@svc/dev-services";

// Brokers that tests pause, kill and restart: one per `describe`, because test files may run in separate processes.

/** The login of the NATS server. */
export const LOGIN = { user: "somebody", password: "pass-word" };

/** Starts a Redis server for a `describe`; skips the suite without Redis, as `testProgram()` does. */
export function brokerRedis(): { readonly server: RedisServer } {
  testProgram("redis");
  let server: RedisServer | undefined;
  before("a Redis server", async () => {
    server = await startRedis();
  });
  after("end the Redis server", () => server?.stop());
  return {
    get server() {
      if (server === undefined) throw new Error("the server exists only inside tests and hooks");
      return server;
    },
  };
}

/** Starts a NATS server with JetStream for a `describe`; skips the suite without NATS, as `testNats()` does. */
export function brokerNats(): TestNats {
  return testNats({ login: LOGIN });
}
