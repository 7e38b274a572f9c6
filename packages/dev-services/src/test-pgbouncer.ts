import { NoServerError } from "./attempts.ts";
import { mochaHooks } from "./mocha-hooks.ts";
import { type PgBouncer, requirePgBouncer, startPgBouncer } from "./pgbouncer.ts";

/** Starts the PgBouncers of one describe. */
export interface TestPgBouncer {
  /**
   * Only inside of tests and hooks. What is not stopped before goes with the describe.
   *
   * @param url of a login that has a password
   * @param connections how many connections to the server all clients share
   */
  start(url: string, connections: number): Promise<PgBouncer>;
}

/**
 * For a `describe`: PgBouncers in transaction mode. Where there is no PgBouncer the tests are skipped and that is
 * printed; with `CI=true` they fail.
 */
export function testPgBouncer(): TestPgBouncer {
  const open: PgBouncer[] = [];
  const { before, after } = mochaHooks("testPgBouncer()", "startPgBouncer()");
  before("a PgBouncer", function () {
    try {
      requirePgBouncer();
      return Promise.resolve();
    } catch (error) {
      if (!(error instanceof NoServerError) || process.env.CI === "true") throw error;
      process.stderr.write(`skipped: ${error.message}\n`);
      this.skip();
    }
  });
  after("end the PgBouncers", async function () {
    this.timeout(60_000);
    await Promise.all(open.splice(0).map((bouncer) => bouncer.stop()));
  });
  return {
    async start(url, connections) {
      const bouncer = await startPgBouncer({ url, connections });
      open.push(bouncer);
      return bouncer;
    },
  };
}
