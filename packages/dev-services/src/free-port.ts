import { randomInt } from "node:crypto";
import { once } from "node:events";
import { type AddressInfo, createServer } from "node:net";

// Below those that systems give to whoever asks for any, and to connections: Linux from 32,768 on, others from 49,152 on.
const LOWEST = 20_000;
const HIGHEST = 32_767;
const TRIES = 200;

/**
 * A port of 127.0.0.1 that nobody uses at this moment, and that hardly anybody takes before it is used, or while a server on it is
 * started again.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(LOWEST, HIGHEST + 1);
    if (await isPortFree(port)) return port;
  }
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Whether a port of 127.0.0.1 can be listened on. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
