import { randomInt } from "node:crypto";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";

// Below those that systems give to whoever asks for any, and to connections: Linux from 32,768 on, others from 49,152 on.
const LOWEST = 20_000;
const HIGHEST = 32_767;
const TRIES = 200;
const given = new Set<number>();

/**
 * A port of 127.0.0.1 that nobody uses at this moment, and that hardly anybody takes before it is used, or while a server on it
 * is started again: no process of the test run in `SVC_TEST_RUN` is given it too.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(LOWEST, HIGHEST + 1);
    // Only then is it looked at: who looks listens on it for a moment, which would keep its owner from it.
    if (isOurs(port) && (await isPortFree(port))) return port;
  }
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Whether a port was given to nobody of this test run before: each has an empty file in the folder of the run. */
export function isOurs(port: number): boolean {
  if (given.has(port)) return false;
  given.add(port);
  const run = process.env.SVC_TEST_RUN ?? "";
  if (run === "") return true;
  try {
    closeSync(openSync(join(run, `port-${port}`), "wx"));
    return true;
  } catch (error) {
    // Where no file can be made chance is left.
    return (error as NodeJS.ErrnoException).code !== "EEXIST";
  }
}

/** Whether a port of 127.0.0.1 can be listened on. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
