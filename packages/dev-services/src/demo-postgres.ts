import { demoFolder } from "./account.ts";
import { answersWithin, fromEnvironment } from "./environment.ts";
import { startPostgres } from "./postgres.ts";

/** The options of {@link demoPostgres}. */
export interface DemoOptions {
  /**
   * The checkout's root folder, which contains the data. For root, the data is in a folder named after the checkout.
   */
  readonly checkout: string;
  /** The service's port. If a server has to be started, it listens on the next port (PORT-4). */
  readonly servicePort: number;
  /** The database to create if a server has to be started. Default: `postgres`. */
  readonly database?: string | undefined;
  /** The environment with `DATABASE_URL` and `PATH`. Default: `process.env`. */
  readonly env?: NodeJS.ProcessEnv | undefined;
}

/** The PostgreSQL server of a demo. */
export interface DemoPostgres extends AsyncDisposable {
  readonly url: string;
  /** A line to print for the user, for example `PostgreSQL 18.4 (embedded), data in ...`. */
  readonly description: string;
  /** Stops the server if this process started it. */
  stop(): Promise<void>;
}

/**
 * Returns the PostgreSQL server of a demo: the server named by `DATABASE_URL`, else a server that keeps its data
 * between runs.
 *
 * @throws Error if the server named by `DATABASE_URL` does not respond within 5 s, if the server's port is taken, or if
 *   the server does not start; NoServerError if no PostgreSQL is installed
 */
export async function demoPostgres(options: DemoOptions): Promise<DemoPostgres> {
  const { checkout, servicePort, database, env = process.env } = options;
  const url = fromEnvironment("DATABASE_URL", env);
  if (url !== undefined) {
    await answersWithin("DATABASE_URL", url);
    const stop = (): Promise<void> => Promise.resolve();
    return { url, description: "the PostgreSQL server at DATABASE_URL", stop, [Symbol.asyncDispose]: stop };
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
