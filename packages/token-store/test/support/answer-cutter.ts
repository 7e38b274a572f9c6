import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A proxy between a client and a server, which can drop replies. */
export interface AnswerCutter extends AsyncDisposable {
  readonly url: string;
  /** Closes the connection instead of passing on a reply, for each of the next `times` replies. */
  cutNext(times: number): void;
  /** Number of dropped replies. */
  readonly cuts: number;
}

export async function answerCutter(url: string): Promise<AnswerCutter> {
  const target = new URL(url);
  const sockets = new Set<Socket>();
  let armed = 0;
  let cuts = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on("error", () => undefined);
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.pipe(upstream);
    upstream.on("data", (chunk: Buffer) => {
      if (armed === 0) {
        client.write(chunk);
        return;
      }
      armed -= 1;
      cuts += 1;
      client.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const own = new URL(url);
  own.host = `127.0.0.1:${port}`;
  return {
    url: own.href,
    cutNext: (times) => void (armed = times),
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
