import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { serverAccount } from "./account.ts";
import { mochaHooks, testProgram } from "./mocha.ts";
import { startServer } from "./server-process.ts";

/** The options of {@link startPgBouncer}. */
export interface PgBouncerOptions {
  /** URL of the PostgreSQL server, with a login that has a password. */
  readonly url: string;
  /** Number of connections to the server that all clients share. */
  readonly connections: number;
}

/** A PgBouncer in transaction pooling mode. */
export interface PgBouncer extends AsyncDisposable {
  /** The given URL with PgBouncer's host and port. */
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/**
 * Starts a PgBouncer in transaction mode on 127.0.0.1, in front of a PostgreSQL server. It stops when this process
 * ends, even by SIGKILL.
 *
 * @throws NoServerError if PgBouncer is not installed; Error if it does not start
 */
export function startPgBouncer(options: PgBouncerOptions): Promise<PgBouncer> {
  // PgBouncer refuses to run as root, so the account that runs it must be able to read its files.
  const account = serverAccount();
  return startServer({
    program: "pgbouncer",
    args: (port, folder) => [
      ...(account === undefined ? [] : ["-u", account.name]),
      settingsIn(folder, port, options),
    ],
    signal: "SIGKILL",
    url: (port) => Object.assign(new URL(options.url), { hostname: "127.0.0.1", port }).href,
  });
}

function settingsIn(folder: string, port: number, { url, connections }: PgBouncerOptions): string {
  const { hostname, port: serverPort, username, password } = new URL(url);
  const users = join(folder, "users.txt");
  const settings = join(folder, "pgbouncer.ini");
  writeFileSync(users, `"${decodeURIComponent(username)}" "${decodeURIComponent(password)}"\n`);
  writeFileSync(
    settings,
    `[databases]
* = host=${hostname} port=${serverPort || "5432"}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${users}
pool_mode = transaction
default_pool_size = ${connections}
ignore_startup_parameters = statement_timeout
`,
  );
  return settings;
}

/** Starts PgBouncers for one `describe`. */
export interface TestPgBouncer {
  /**
   * Starts a PgBouncer. Call it only in tests and hooks. Instances that are still running are stopped after the
   * `describe`.
   *
   * @param url URL with a login that has a password
   * @param connections number of connections to the server that all clients share
   */
  start(url: string, connections: number): Promise<PgBouncer>;
}

/**
 * Provides a `describe` with PgBouncers in transaction mode. Without PgBouncer the `describe` is skipped, as by
 * {@link testProgram}.
 */
export function testPgBouncer(): TestPgBouncer {
  testProgram("pgbouncer");
  const open: PgBouncer[] = [];
  const { after } = mochaHooks("testPgBouncer()", "startPgBouncer()");
  after("stop the PgBouncers", async function () {
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
