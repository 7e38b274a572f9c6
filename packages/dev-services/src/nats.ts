import { connect } from "node:net";
import { fixtureOf, testProgram, withUrl } from "./mocha.ts";
import { type ServerProcess, startServer } from "./server-process.ts";

/** The options of {@link startNats}. */
export interface NatsOptions {
  /** The port on 127.0.0.1. Default: a free port. */
  readonly port?: number | undefined;
  /** Whether the server runs with JetStream. Default: true. */
  readonly jetStream?: boolean | undefined;
  /** The only login that may connect; the URL contains it. Default: no login is needed. */
  readonly login?: { readonly user: string; readonly password: string } | undefined;
}

/** A NATS server that this process started. Its data survives a restart. */
export type NatsServer = ServerProcess;

/**
 * Starts a NATS server on 127.0.0.1, by default with JetStream. It stops when this process ends, even by SIGKILL.
 *
 * @throws NoServerError if NATS is not installed; Error if the server does not start
 */
export function startNats({ port, jetStream = true, login }: NatsOptions = {}): Promise<NatsServer> {
  const user = login === undefined ? [] : ["--user", login.user, "--pass", login.password];
  const inUrl =
    login === undefined ? "" : `${encodeURIComponent(login.user)}:${encodeURIComponent(login.password)}@`;
  return startServer(
    {
      program: "nats",
      // Always pass the folder on the command line, because it identifies the process.
      args: (at, folder) => [
        "-a",
        "127.0.0.1",
        "-p",
        String(at),
        "-sd",
        folder,
        ...(jetStream ? ["-js"] : []),
        ...user,
      ],
      signal: "SIGTERM",
      url: (at) => `nats://${inUrl}127.0.0.1:${at}`,
      answers: greets,
    },
    { port },
  );
}

/** Returns whether a port behaves like a NATS server, which sends `INFO` on every new connection. */
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

/** The NATS server for one `describe`, whose tests may stop, kill and start it. */
export interface TestNats {
  /** Available only in tests and hooks. */
  readonly server: NatsServer;
  /** The same as `server.url`. */
  readonly url: string;
}

/**
 * Provides a `describe` with its own NATS server with JetStream, started before its first test and stopped after its
 * last. Without NATS the `describe` is skipped, as by {@link testProgram}.
 */
export function testNats(options: NatsOptions = {}): TestNats {
  testProgram("nats");
  return fixtureOf(["server", "url"], {
    what: "the NATS server",
    names: ["testNats()", "startNats()"],
    open: async () => withUrl(await startNats(options)),
    close: ({ server }) => server.stop(),
  });
}
