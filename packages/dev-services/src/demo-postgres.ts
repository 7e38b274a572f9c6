import { demoFolder } from "./account.ts";
import { answersWithin, fromEnvironment } from "./environment.ts";
import { startPostgres } from "./postgres.ts";

/** The options of {@link demoPostgres}. */
export interface DemoOptions {
  /** The checkout's root folder. The data are kept in it, or for root in a folder named after it. */
  readonly checkout: string;
  /** The port of the service. A server that has to be started listens on the next port (PORT-4). */
  readonly servicePort: number;
  /** The database to create when a server has to be started. Default: `postgres`. */
  readonly database?: string | undefined;
  /** Default: `process.env`. */
  readonly env?: NodeJS.ProcessEnv | undefined;
}

/** The PostgreSQL of the demo. */
export interface DemoPostgres extends AsyncDisposable {
  readonly url: string;
  /** A line to print for the user, for example `PostgreSQL 18.4 (embedded), data in ...`. */
  readonly description: string;
  /** Stops the server if this process started it. */
  stop(): Promise<void>;
}

/**
 * Returns the PostgreSQL of the demo: the one named by `DATABASE_URL`, else one that keeps its data between runs.
 *
 * @throws Error when the server of `DATABASE_URL` does not answer within 5 s, when the port is taken, or when the server
 *   does not start; NoServerError when no PostgreSQL is installed
 */
export async function demoPostgres(options: DemoOptions): Promise<DemoPostgres> {
  const { checkout, servicePort, database, env = process.env } = options;
  const url = fromEnvironment("DATABASE_URL", env);
  if (url !== undefined) {
    await answersWithin("DATABASE_URL", url);
    const stop = (): Promise<void> => Promise.resolve();
    return { url, description: "the PostgreSQL of DATABASE_URL", stop, [Symbol.asyncDispose]: stop };
  }
  const server = await startPostgres({
    purpose: "demo",
    dataDir: demoFolder(checkout),
    port: servicePort + 1,
    database,
    env,
  });
  return {
    url: server.url,
    description: `PostgreSQL ${server.version} (${server.source}) on port ${server.port}, data in ${server.folder}`,
    stop: () => server.stop(),
    [Symbol.asyncDispose]: () => server.stop(),
  };
}
