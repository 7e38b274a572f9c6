import { mochaHooks } from "./mocha-hooks.ts";
import { type PgBouncer, startPgBouncer } from "./pgbouncer.ts";
import { testProgram } from "./test-program.ts";

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
 * For a `describe`: PgBouncers in transaction mode. Where there is no PgBouncer the describe is skipped as by
 * {@link testProgram}.
 */
export function testPgBouncer(): TestPgBouncer {
  testProgram("pgbouncer");
  const open: PgBouncer[] = [];
  const { after } = mochaHooks("testPgBouncer()", "startPgBouncer()");
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
