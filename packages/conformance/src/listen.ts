import { once } from "node:events";
import type { Server } from "node:http";
import { InvalidUse } from "./faults.ts";

/** Starts a server. Returns a function that stops it. */
export async function listen(server: Server, port: number, host: string): Promise<() => Promise<void>> {
  server.listen(port, host);
  await once(server, "listening");
  return async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
}

/**
 * Starts a server at the address that an option names. Returns a function that stops it.
 *
 * @param address `host:port`
 * @throws InvalidUse if the address is malformed or in use
 */
export async function listenAt(
  server: Server,
  option: string,
  address: string,
): Promise<() => Promise<void>> {
  const [, host, port] = /^(.+):(\d{1,5})$/.exec(address) ?? [];
  if (host === undefined || port === undefined) {
    throw new InvalidUse([`${option}: ${JSON.stringify(address)} is not host:port`]);
  }
  return listen(server, Number(port), host.replace(/^\[|\]$/g, "")).catch(
    ({ code }: NodeJS.ErrnoException) => {
      throw new InvalidUse([`${option}: cannot listen on ${address}: ${code}`]);
    },
  );
}
