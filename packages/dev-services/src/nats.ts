import { connect } from "node:net";
import { scratchFolder } from "./account.ts";
import { withWatchdog } from "./lease.ts";
import { fixtureOf } from "./mocha-hooks.ts";
import { requireProgram } from "./require-program.ts";
import { type ServerProcess, startServer } from "./server-process.ts";
import { testProgram } from "./test-program.ts";

/** The options of {@link startNats}. */
export interface NatsOptions {
  /** The port on 127.0.0.1. Default: a free one. */
  readonly port?: number | undefined;
  /** Whether the server has JetStream. Default: true. */
  readonly jetStream?: boolean | undefined;
  /** The only login that may connect; the URL contains it. Default: no login is needed. */
  readonly login?: { readonly user: string; readonly password: string } | undefined;
}

/** A NATS server that this process started. A restart keeps its stored data. */
export interface NatsServer extends ServerProcess {
  readonly url: string;
}

/**
 * Starts a NATS server, with JetStream, on 127.0.0.1. It ends when this process ends, even by SIGKILL.
 *
 * @throws NoServerError when no NATS is installed; Error when it does not start
 */
export async function startNats({
  port: wanted,
  jetStream = true,
  login,
}: NatsOptions = {}): Promise<NatsServer> {
  const program = requireProgram("nats");
  return withWatchdog(async (watchdog) => {
    const folder = scratchFolder("svc-nats-");
    const charge = { signal: "SIGTERM", remove: [folder], marker: folder } as const;
    watchdog.watch(charge);
    const start = {
      program,
      options: { cwd: folder },
      port: wanted,
      // The command line always names the folder, which identifies the process.
      args: (port: number) => {
        const common = ["-a", "127.0.0.1", "-p", String(port), "-sd", folder];
        const user = login === undefined ? [] : ["--user", login.user, "--pass", login.password];
        return [...common, ...(jetStream ? ["-js"] : []), ...user];
      },
      watch: (pid: number) => watchdog.watch({ ...charge, pid }),
      answers: greets,
    };
    const server = await startServer(start, watchdog);
    const user = login === undefined ? "" : `${encodeURIComponent(login.user)}:`;
    const password = login === undefined ? "" : `${encodeURIComponent(login.password)}@`;
    return Object.assign(server, { url: `nats://${user}${password}127.0.0.1:${server.port}` });
  });
}

/** Returns whether a port answers like a NATS server, which sends `INFO` to every new connection. */
function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1");
    const answer = (yes: boolean): void => {
      socket.destroy();
      resolve(yes);
    };
    socket.on("error", () => answer(false));
    socket.once("data", (chunk: Buffer) => answer(chunk.toString("latin1").startsWith("INFO ")));
    socket.setTimeout(5000, () => answer(false));
  });
}

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
  const server = fixtureOf({
    what: "the NATS server",
    names: ["testNats()", "startNats()"],
    open: () => startNats(options),
    close: (each) => each.stop(),
  });
  return {
    get server() {
      return server();
    },
    get url() {
      return server().url;
    },
  };
}
