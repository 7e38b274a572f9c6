import { NoServerError, type NatsServer, type RedisServer, startNats, startRedis } from "@svc/dev-services";

// Brokers that tests may pause, kill and restart: one for each `describe`, because files may run in processes of their own.

/** Who may connect to the NATS server. */
export const LOGIN = { user: "somebody", password: "pass-word" };

/** For a `describe`: a Redis server. */
export function brokerRedis(): { readonly server: RedisServer } {
  let server: RedisServer | undefined;
  before("a Redis server", async () => {
    server = await startRedis();
  });
  after("end the Redis server", () => server?.stop());
  return {
    get server() {
      return started(server);
    },
  };
}

/** For a `describe`: a NATS server with JetStream. Where there is no NATS its tests are skipped, but not with `CI=true`. */
export function brokerNats(): { readonly server: NatsServer } {
  let server: NatsServer | undefined;
  before("a NATS server", async function () {
    try {
      server = await startNats({ login: LOGIN });
    } catch (error) {
      if (!(error instanceof NoServerError) || process.env["CI"] === "true") throw error;
      process.stderr.write(`skipped: ${error.message}\n`);
      this.skip();
    }
  });
  after("end the NATS server", () => server?.stop());
  return {
    get server() {
      return started(server);
    },
  };
}

function started<S>(server: S | undefined): S {
  if (server === undefined) throw new Error("the server exists only inside of tests and hooks");
  return server;
}
