import { join } from "node:path";
import { testRunFolder } from "./test-run.ts";

/** A server that all processes in a test run share. */
interface Shared {
  readonly url: string;
  stop(): Promise<void>;
}

const shared = new Map<string, Promise<Shared>>();

/**
 * Returns the URL of a server that all processes in this test run share. The first caller starts the server.
 *
 * @param name name of the file that describes the server to the other processes
 * @param joinServer joins the server that the file describes, or starts one and writes the file
 */
export async function sharedServer(
  name: string,
  joinServer: (file: string) => Promise<Shared>,
): Promise<string> {
  const server = shared.get(name) ?? joinServer(join(testRunFolder(), name));
  shared.set(name, server);
  return (await server).url;
}

/**
 * Releases the shared servers immediately. For use as a global teardown fixture of mocha, or in any other program that
 * used {@link openTestDatabase} or {@link openTestRedis}. Without this call the servers stop shortly after the run's
 * last process.
 */
export async function mochaGlobalTeardown(): Promise<void> {
  const held = [...shared.values()];
  shared.clear();
  await Promise.all(
    held.map((server) =>
      server.then(
        (each) => each.stop(),
        () => undefined,
      ),
    ),
  );
}
