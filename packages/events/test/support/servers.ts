import { type RedisServer, startRedis, testNats, type TestNats, testProgram } from "@svc/dev-services";

// Brokers that tests may pause, kill and restart: one for each `describe`, because files may run in processes of their own.

/** Who may connect to the NATS server. */
export const LOGIN = { user: "somebody", password: "pass-word" };

/** For a `describe`: a Redis server. Where there is no Redis it is skipped as by `testProgram()`. */
export function brokerRedis(): { readonly server: RedisServer } {
  testProgram("redis");
  let server: RedisServer | undefined;
  before("a Redis server", async () => {
    server = await startRedis();
  });
  after("end the Redis server", () => server?.stop());
  return {
    get server() {
      if (server === undefined) throw new Error("the server exists only inside of tests and hooks");
      return server;
    },
  };
}

/** For a `describe`: a NATS server with JetStream. Where there is no NATS it is skipped as by `testNats()`. */
export function brokerNats(): TestNats {
  return testNats({ login: LOGIN });
}
