import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { scratchFolder, serverAccount } from "./account.ts";
import { freePort } from "./free-port.ts";
import { startWatchdog, type Watchdog } from "./lease.ts";
import { requireProgram } from "./require-program.ts";

/** The options of {@link startPgBouncer}. */
export interface PgBouncerOptions {
  /** URL of the server behind it, with a login that has a password. */
  readonly url: string;
  /** How many connections to the server all clients share. */
  readonly connections: number;
}

/** A PgBouncer that pools transactions. */
export interface PgBouncer extends AsyncDisposable {
  /** The given URL with PgBouncer's host and port. */
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/**
 * Starts a PgBouncer in transaction mode on 127.0.0.1, in front of a PostgreSQL. It ends when this process ends, even by
 * SIGKILL.
 *
 * @throws NoServerError when no PgBouncer is installed; Error when it does not start
 */
export async function startPgBouncer(options: PgBouncerOptions): Promise<PgBouncer> {
  const program = requireProgram("pgbouncer");
  const watchdog = await startWatchdog();
  try {
    return await launched(program, options, watchdog);
  } catch (error) {
    await watchdog.finish();
    throw error;
  }
}

async function launched(program: string, options: PgBouncerOptions, watchdog: Watchdog): Promise<PgBouncer> {
  const port = await freePort();
  const folder = scratchFolder("svc-pgbouncer-");
  const charge = { signal: "SIGKILL", remove: [folder], marker: folder } as const;
  watchdog.watch(charge);
  // PgBouncer refuses root, so another account must be able to read its files.
  const account = serverAccount();
  const child = spawn(
    program,
    [...(account === undefined ? [] : ["-u", account.name]), settingsIn(folder, port, options)],
    { detached: true, stdio: "ignore", cwd: folder },
  );
  let failed: Error | undefined;
  child.on("error", (error) => void (failed = error));
  const { pid } = child;
  if (pid !== undefined) watchdog.watch({ ...charge, pid });
  child.unref();
  const end = performance.now() + 20_000;
  while (pid === undefined || !(await listens(port))) {
    const ended = child.exitCode !== null || child.signalCode !== null;
    if (pid === undefined || ended || performance.now() > end)
      throw new Error(`PgBouncer did not start on port ${port} of 127.0.0.1`, { cause: failed });
    await sleep(5);
  }
  const through = new URL(options.url);
  through.hostname = "127.0.0.1";
  through.port = String(port);
  const stop = (): Promise<void> => watchdog.finish();
  return { url: through.href, pid, stop, [Symbol.asyncDispose]: stop };
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

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => {
      socket.destroy();
      resolve(true);
    });
    socket.on("error", () => resolve(false));
  });
}
