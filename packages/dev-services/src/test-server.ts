import { mochaHooks } from "./mocha-hooks.ts";
import { type PostgresServer, startPostgres } from "./postgres.ts";
import type { PostgresOptions } from "./postgres-process.ts";
import { needsPostgres } from "./test-postgres.ts";

/** The server of one describe. Its tests may stop, kill and start it. */
export interface TestServer {
  /** Available only inside of tests and hooks. */
  readonly server: PostgresServer;
  /** The same as `server.url`. */
  readonly url: string;
}

/**
 * Gives a `describe` of fault tests a PostgreSQL of its own, started before its first test and ended after its last.
 * Without a PostgreSQL the describe is skipped as by `testProgram()`.
 */
export function testPostgresServer(options: Partial<PostgresOptions> = {}): TestServer {
  needsPostgres(options);
  let open: PostgresServer | undefined;
  const { before, after } = mochaHooks("testPostgresServer()", "startPostgres()");
  before("a PostgreSQL of its own", async function () {
    this.timeout(120_000);
    open = await startPostgres({ purpose: "test", ...options });
  });
  after("end the PostgreSQL", async function () {
    this.timeout(60_000);
    await open?.stop();
    open = undefined;
  });
  const started = (): PostgresServer => {
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
