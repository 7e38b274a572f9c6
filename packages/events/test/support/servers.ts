import { NoServerError, type NatsServer, type RedisServer, startNats, startRedis } from "@svc/dev-services";

// Brokers that tests may pause, kill and restart, one for all files: started for the first that needs it.
let redis: Promise<RedisServer> | undefined;
let nats: Promise<NatsServer> | undefined;

/** Who may connect to the NATS server. */
export const LOGIN = { user: "somebody", password: "pass-word" };

after("end the brokers", async function () {
  this.timeout(60_000);
  await Promise.all([redis, nats].map(async (started) => (await started?.catch(() => undefined))?.stop()));
});

/** For a `describe`: a Redis server. */
export function brokerRedis(): { readonly server: RedisServer } {
  let server: RedisServer | undefined;
  before("a Redis server", async () => {
    server = await (redis ??= startRedis());
  });
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
      server = await (nats ??= startNats({ login: LOGIN }));
    } catch (error) {
      if (!(error instanceof NoServerError) || process.env["CI"] === "true") throw error;
      process.stderr.write(`skipped: ${error.message}\n`);
      this.skip();
    }
  });
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
