import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A proxy between a service and Redis that drops selected replies. */
export interface AnswerCutter extends AsyncDisposable {
  readonly url: string;
  /** Drops the next reply to a script and closes the connection instead. */
  cutNext(): void;
  /** The number of dropped replies. */
  readonly cuts: number;
}

/** @param port the port of Redis on the loopback interface */
export async function startAnswerCutter(port: number): Promise<AnswerCutter> {
  const sockets = new Set<Socket>();
  let armed = false;
  let cuts = 0;
  const server = createServer((client) => {
    const redis = connect(port, "127.0.0.1");
    let running = false;
    for (const socket of [client, redis]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        redis.destroy();
      });
    }
    client.on("data", (chunk: Buffer) => {
      running ||= armed && /evalsha/i.test(chunk.toString("latin1"));
      redis.write(chunk);
    });
    redis.on("data", (chunk: Buffer) => {
      if (!running || !armed) {
        client.write(chunk);
        return;
      }
      armed = false;
      cuts += 1;
      client.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cutNext: () => void (armed = true),
    get cuts() {
      return cuts;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
