import { mochaHooks } from "./mocha-hooks.ts";
import { type NatsOptions, type NatsServer, startNats } from "./nats.ts";
import { testProgram } from "./test-program.ts";

/** The NATS server of one describe. Its tests may stop, kill and start it. */
export interface TestNats {
  /** Available only inside of tests and hooks. */
  readonly server: NatsServer;
  /** The same as `server.url`. */
  readonly url: string;
}

/**
 * Gives a `describe` a NATS server of its own with JetStream, started before its first test and ended after its last.
 * Without NATS the describe is skipped as by {@link testProgram}.
 */
export function testNats(options: NatsOptions = {}): TestNats {
  testProgram("nats");
  let open: NatsServer | undefined;
  const { before, after } = mochaHooks("testNats()", "startNats()");
  before("a NATS server of its own", async function () {
    this.timeout(60_000);
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
