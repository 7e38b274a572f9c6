import { once } from "node:events";
import { connect, type Socket } from "node:net";

/** A keep-alive connection that sends one request after another and returns all bytes of each response. */
export interface WireClient {
  /** @param head the request line and the headers, each with its line break, without the header Connection */
  send(head: string, method: string): Promise<string>;
  close(): void;
}

export function createWireClient(port: number): WireClient {
  let socket: Socket | undefined;

  async function open(): Promise<Socket> {
    if (socket !== undefined && !socket.destroyed && !socket.readableEnded) return socket;
    socket = connect({ port, host: "127.0.0.1", noDelay: true });
    await once(socket, "connect");
    return socket;
  }

  return {
    async send(head, method) {
      const connection = await open();
      return new Promise((resolve, reject) => {
        let text = "";
        const end = (): void => {
          connection.removeAllListeners();
          connection.on("error", () => undefined);
          if (/^connection: close\r?$/im.test(text.split("\r\n\r\n", 1)[0] ?? "")) connection.destroy();
          resolve(text);
        };
        connection.removeAllListeners();
        connection.on("error", reject);
        connection.on("close", () => {
          socket = undefined;
          resolve(`${text}<closed>`);
        });
        connection.on("data", (chunk: Buffer) => {
          text += chunk.toString("latin1");
          if (isWhole(text, method)) end();
        });
        connection.write(`${head}\r\n`, "latin1");
      });
    },
    close() {
      socket?.removeAllListeners().destroy();
    },
  };
}

/** Returns whether a string, with one character per byte, contains a complete response. */
function isWhole(text: string, method: string): boolean {
  const split = text.indexOf("\r\n\r\n");
  if (split === -1) return false;
  const head = text.slice(0, split);
  const status = Number(head.slice(9, 12));
  if (method === "HEAD" || status === 204 || status === 304) return true;
  if (/^transfer-encoding: chunked$/im.test(head)) return text.endsWith("\r\n0\r\n\r\n");
  const length = /^content-length: (\d+)$/im.exec(head)?.[1];
  return length !== undefined && text.length >= split + 4 + Number(length);
}
