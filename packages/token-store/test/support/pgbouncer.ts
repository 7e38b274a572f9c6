import { freePort } from "@svc/dev-services";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "./postgres.ts";

/** Whether there is a PgBouncer on this machine. */
export const hasPgBouncer: boolean = spawnSync("pgbouncer", ["--version"]).status === 0;

/** A PgBouncer that pools transactions over a few connections. */
export interface PgBouncer extends AsyncDisposable {
  /** The URL it was started with, by way of it. */
  readonly url: string;
}

/**
 * @param url of a login that has a password
 * @param servers connections to the server at most
 */
export async function startPgBouncer(url: string, servers: number): Promise<PgBouncer> {
  const { hostname, port: serverPort, username, password } = new URL(url);
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "svc-pgbouncer-"));
  // It refuses root, and reads its files as somebody else.
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chmodSync(folder, 0o755);
  const users = join(folder, "users.txt");
  const settings = join(folder, "pgbouncer.ini");
  writeFileSync(users, `"${username}" "${password}"\n`);
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
default_pool_size = ${servers}
ignore_startup_parameters = statement_timeout
`,
  );
  const child = spawn("pgbouncer", [...(isRoot ? ["-u", "nobody"] : []), settings], { stdio: "ignore" });
  const ended = once(child, "exit");
  const stop = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
    rmSync(folder, { recursive: true });
  };
  try {
    await until("PgBouncer listens", () =>
      child.exitCode === null ? listens(port) : Promise.reject(new Error("it ended")),
    );
  } catch (error) {
    await stop();
    throw error;
  }
  const through = new URL(url);
  through.hostname = "127.0.0.1";
  through.port = String(port);
  return { url: through.href, [Symbol.asyncDispose]: stop };
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
