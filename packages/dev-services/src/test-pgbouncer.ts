import { mochaHooks } from "./mocha-hooks.ts";
import { type PgBouncer, startPgBouncer } from "./pgbouncer.ts";
import { testProgram } from "./test-program.ts";

/** Starts the PgBouncers of one describe. */
export interface TestPgBouncer {
  /**
   * Starts a PgBouncer. Call it only inside of tests and hooks; the end of the describe stops all that still run.
   *
   * @param url URL with a login that has a password
   * @param connections how many connections to the server all clients share
   */
  start(url: string, connections: number): Promise<PgBouncer>;
}

/**
 * Gives a `describe` PgBouncers in transaction mode. Without PgBouncer the describe is skipped as by {@link testProgram}.
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
