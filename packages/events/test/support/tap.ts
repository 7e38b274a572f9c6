import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A proxy to a server, whose connections a test can cut. */
export interface Tap extends AsyncDisposable {
  readonly port: number;
  /** Closes all connections and rejects new ones. */
  cut(): void;
  close(): Promise<void>;
}

/** Opens a proxy to a port of 127.0.0.1. */
export async function openTap(to: number): Promise<Tap> {
  const sockets = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    if (isCut) return void near.destroy();
    const far = connect(to, "127.0.0.1");
    const both = [near, far] as const;
    for (const [one, other] of [both, [far, near] as const]) {
      sockets.add(one);
      one.on("error", () => undefined);
      one.on("close", () => {
        sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => {
    isCut = true;
    for (const each of sockets) each.destroy();
  };
  const close = async (): Promise<void> => {
    cut();
    await new Promise((resolve) => server.close(resolve));
  };
  return { port: (server.address() as AddressInfo).port, cut, close, [Symbol.asyncDispose]: close };
}
