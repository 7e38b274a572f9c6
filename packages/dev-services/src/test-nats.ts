import { NoServerError } from "./attempts.ts";
import { mochaHooks } from "./mocha-hooks.ts";
import { type NatsOptions, type NatsServer, requireNats, startNats } from "./nats.ts";

/** A NATS server of one describe that its tests may stop, kill and start as they like. */
export interface TestNats {
  /** Only inside of tests and hooks. */
  readonly server: NatsServer;
  /** The same as `server.url`. */
  readonly url: string;
}

/**
 * For a `describe`: a NATS server of its own with JetStream, started before the first test, ended after the last. Where
 * there is no NATS the tests are skipped and that is printed; with `CI=true` they fail.
 */
export function testNats(options: NatsOptions = {}): TestNats {
  let open: NatsServer | undefined;
  const { before, after } = mochaHooks("testNats()", "startNats()");
  before("a NATS server of its own", async function () {
    this.timeout(60_000);
    try {
      requireNats(options.env);
    } catch (error) {
      if (!(error instanceof NoServerError) || process.env.CI === "true") throw error;
      process.stderr.write(`skipped: ${error.message}\n`);
      this.skip();
    }
    open = await startNats(options);
  });
  after("end the NATS server", async function () {
    this.timeout(60_000);
    await open?.stop();
    open = undefined;
  });
  const started = (): NatsServer => {
    if (open === undefined) throw new Error("the server exists only inside of tests and hooks");
    return open;
  };
  return {
    get server() {
      return started();
    },
    get url() {
      return started().url;
    },
  };
}
