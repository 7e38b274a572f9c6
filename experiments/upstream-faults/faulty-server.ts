import { freePort } from "@svc/dev-services";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { gzipSync } from "node:zlib";

/** A request as it arrived. */
export interface Arrival {
  readonly call: string;
  readonly method: string;
  readonly head: string;
}

/** The behaviour of a server for one request. */
export interface Fault {
  readonly name: string;
  /** Whether a call with this fault shows that the service is down, so that the circuit breaker must open. */
  readonly isOutage: boolean;
  /** Undefined for a server that does not listen. */
  readonly answer: ((socket: Socket, foreign: string) => void) | undefined;
}

const ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}";
/** Returns an empty response with a status, and with header lines that end with CRLF. */
export const statusOf = (status: number, more = ""): string =>
  `HTTP/1.1 ${status} x\r\nContent-Length: 0\r\n${more}\r\n`;

/** Writes repeatedly until the client has disconnected. */
function repeat(socket: Socket, everyMs: number, bytes: string | Buffer): void {
  const timer = setInterval(() => socket.writableNeedDrain || socket.write(bytes), everyMs);
  socket.on("close", () => clearInterval(timer));
}

const bomb = gzipSync(Buffer.alloc(50 * 1024 * 1024));

/** All faults, in the order of the experiment. */
export const faults: readonly Fault[] = [
  { name: "refuses", isOutage: true, answer: undefined },
  { name: "hangs", isOutage: true, answer: () => undefined },
  { name: "429", isOutage: false, answer: (socket) => socket.write(statusOf(429)) },
  { name: "500", isOutage: false, answer: (socket) => socket.write(statusOf(500)) },
  { name: "503", isOutage: true, answer: (socket) => socket.write(statusOf(503, "Retry-After: 3600\r\n")) },
  { name: "garbage", isOutage: true, answer: (socket) => socket.write("SSH-2.0-OpenSSH_9.2\r\n") },
  {
    name: "drips",
    isOutage: true,
    answer(socket) {
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
      repeat(socket, 50, "a");
    },
  },
  {
    name: "dies",
    isOutage: true,
    answer: (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"),
  },
  {
    name: "endless body",
    isOutage: false,
    answer(socket) {
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
      repeat(socket, 1, `10000\r\n${"a".repeat(65_536)}\r\n`);
    },
  },
  {
    name: "compressed bomb",
    isOutage: false,
    answer(socket) {
      socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: ${bomb.length}\r\n\r\n`);
      socket.write(bomb);
    },
  },
  {
    name: "invalid header",
    isOutage: true,
    answer: (socket) => socket.write("HTTP/1.1 200 OK\r\nA\0: b\r\n\r\n"),
  },
  {
    name: "early hints",
    isOutage: false,
    answer: (socket) => socket.write(`HTTP/1.1 103 x\r\nLink: </a>\r\n\r\n${ok}`),
  },
  {
    name: "endless hints",
    isOutage: true,
    answer: (socket) => repeat(socket, 2, "HTTP/1.1 103 x\r\nLink: </a>\r\n\r\n"),
  },
  {
    name: "redirects away",
    isOutage: false,
    answer: (socket, foreign) => socket.write(statusOf(302, `Location: ${foreign}/\r\n`)),
  },
];

/** The names of the faults that show what is wrong with the broken variants: a short run of a variant has only these. */
export const telling: readonly string[] = ["429", "500"];

/**
 * Returns the index of the end of the first request in a string; undefined while the request is incomplete. Bodies have a
 * length.
 */
function endOfRequest(text: string): number | undefined {
  const head = text.indexOf("\r\n\r\n") + 4;
  if (head < 4) return undefined;
  const length = Number(/^content-length: (\d+)\r$/im.exec(text.slice(0, head))?.[1] ?? 0);
  return text.length < head + length ? undefined : head + length;
}

export interface FaultyServer extends AsyncDisposable {
  readonly url: string;
  readonly arrivals: readonly Arrival[];
  /** The number of open connections. */
  readonly connections: number;
  /** Makes the server respond correctly. */
  heal(): Promise<void>;
}

/** Starts a server with a fault on a free port. */
export async function startFaultyServer(fault: Fault, foreign: string): Promise<FaultyServer> {
  const arrivals: Arrival[] = [];
  const sockets = new Set<Socket>();
  let answer = fault.answer ?? ((socket: Socket) => socket.destroy());
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    let unread = "";
    socket.setEncoding("latin1").on("data", (text: string) => {
      unread += text;
      for (let end = endOfRequest(unread); end !== undefined; end = endOfRequest(unread)) {
        const head = unread.slice(0, unread.indexOf("\r\n\r\n") + 2);
        unread = unread.slice(end);
        arrivals.push({
          call: /^x-call: (.*)\r$/im.exec(head)?.[1] ?? "",
          method: head.slice(0, head.indexOf(" ")),
          head,
        });
        answer(socket, foreign);
      }
    });
  });
  // A server that recovers listens on the same port. With freePort(), no other process takes the port in between.
  const port = await freePort();
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  const close = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  if (fault.answer === undefined) await close();
  return {
    url: `http://127.0.0.1:${port}`,
    arrivals,
    get connections() {
      return sockets.size;
    },
    async heal() {
      for (const socket of sockets) socket.destroy();
      answer = (socket) => socket.write(ok);
      if (server.listening) return;
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
    },
    [Symbol.asyncDispose]: close,
  };
}
