import { randomInt } from "node:crypto";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";

// These ports are below the ephemeral range, which begins at 32,768 on Linux and at 49,152 on other systems.
const LOWEST = 20_000;
const HIGHEST = 32_767;
const HIGHEST_OF_ALL = 65_535;
const TRIES = 200;
const given = new Set<number>();

/**
 * Returns a free port on 127.0.0.1 that is unlikely to be taken before it is used or while its server restarts: no
 * other process in the test run named by `SVC_TEST_RUN` gets the same port.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = randomInt(LOWEST, HIGHEST + 1);
    // Claim the port before probing it, because the probe listens briefly and would disturb another process that
    // claimed the port.
    if (isOurs(port) && (await isPortFree(port))) return port;
  }
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Returns a free port such that each port at one of these distances above it is free too. */
export async function freePorts(distances: readonly number[]): Promise<number> {
  for (;;) {
    const port = await freePort();
    if (distances.some((distance) => port + distance > HIGHEST_OF_ALL)) continue;
    const others = await Promise.all(distances.map((distance) => isPortFree(port + distance)));
    if (others.every(Boolean)) return port;
  }
}

/**
 * Starts a server on the requested port. If none is requested, tries up to five free ports, because another process may
 * take a port before the server does.
 *
 * @param isTaken whether a failed start may succeed on another port. Default: always
 */
export async function onFreePort<T>(
  wanted: number | undefined,
  start: (port: number) => Promise<T>,
  isTaken: (error: unknown) => boolean = () => true,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const port = wanted ?? (await freePort());
    try {
      return await start(port);
    } catch (error) {
      if (wanted !== undefined || attempt === 5 || !isTaken(error)) throw error;
    }
  }
}

/** Claims a port for this process with an empty file in the run's folder. Returns false if it was already claimed. */
export function isOurs(port: number): boolean {
  if (given.has(port)) return false;
  given.add(port);
  const run = process.env.SVC_TEST_RUN ?? "";
  if (run === "") return true;
  try {
    closeSync(openSync(join(run, `port-${port}`), "wx"));
    return true;
  } catch (error) {
    // Use the port without a recorded claim if the folder is not writable.
    return (error as NodeJS.ErrnoException).code !== "EEXIST";
  }
}

/** Returns whether a server can listen on a port on 127.0.0.1. */
export function isPortFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
