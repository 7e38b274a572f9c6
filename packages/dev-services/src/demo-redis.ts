import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { demoFolder, ownFolder } from "./account.ts";
import { maskUrl } from "./attempts.ts";
import type { DemoOptions } from "./demo-postgres.ts";
import { fromEnvironment } from "./environment.ts";
import { isPortFree } from "./free-port.ts";
import { firstIn, foldersOnPath, programs } from "./programs.ts";
import { redisCommands } from "./redis-command.ts";
import { startRedis } from "./redis.ts";

/** The Redis server of a demo. */
export interface DemoRedis extends AsyncDisposable {
  readonly url: string;
  /** A line to print for the user, for example `Redis on port 8003, data in ...`. */
  readonly description: string;
  /** Stops the server if this process started it. */
  stop(): Promise<void>;
}

/**
 * Returns the Redis server of a demo: the server named by `REDIS_URL`, else a server that keeps its data between runs, if
 * `redis-server` or `valkey-server` is on `PATH` (PORT-7). Returns undefined without one; installs nothing.
 *
 * @throws Error if the server named by `REDIS_URL` does not respond within 5 s, if the server's port is taken, or if the
 *   server does not start
 */
export async function demoRedis(options: Omit<DemoOptions, "database">): Promise<DemoRedis | undefined> {
  const { checkout, servicePort, env = process.env } = options;
  const url = fromEnvironment("REDIS_URL", env);
  if (url !== undefined) {
    await responds(url);
    const stop = (): Promise<void> => Promise.resolve();
    return { url, description: "the Redis server at REDIS_URL", stop, [Symbol.asyncDispose]: stop };
  }
  if (firstIn(foldersOnPath(env), programs.redis.files) === undefined) return undefined;
  const port = servicePort + 3;
  if (!(await isPortFree(port))) {
    throw new Error(
      `port ${port} on 127.0.0.1, needed for Redis, is taken; stop the process that uses it, or set SVC_PORT`,
    );
  }
  const folder = demoFolder(checkout);
  ownFolder(folder);
  const dataDir = join(folder, "redis");
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const server = await startRedis({ port, dataDir });
  return {
    url: server.url,
    description: `Redis on port ${port}, data in ${dataDir}`,
    stop: () => server.stop(),
    [Symbol.asyncDispose]: () => server.stop(),
  };
}

async function responds(url: string): Promise<void> {
  try {
    await redisCommands(url, [["PING"]]);
  } catch {
    throw new Error(
      `REDIS_URL names ${maskUrl(url)}, which does not answer within 5 s. ` +
        "Start that server, or unset REDIS_URL to have one started.",
    );
  }
}
