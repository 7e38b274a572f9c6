import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { type Member, startCrew } from "../harness/crew.ts";
import type { Measured } from "../harness/rounds.ts";
import type { Case } from "../harness/subject.ts";
import { requests } from "./route.ts";

const connections = 16;
const requestsPerSlice = 2_000;

/** The same cases with kernel and parser: a client of this process keeps connections open and asks over them. */
export async function measureOverSockets(cases: readonly Case[], rounds: number): Promise<Measured> {
  await using crew = await startCrew(cases);
  const clients: Client[] = [];
  try {
    for (const member of crew.members) {
      const client = new Client(member, await connectAll(await member.listen()));
      clients.push(client);
      await client.run(requestsPerSlice);
    }
    for (let round = 1; round <= rounds; round++) {
      for (const client of round % 2 === 0 ? clients.toReversed() : clients) {
        const before = await client.member.cpuUs();
        await client.run(requestsPerSlice);
        client.samples.push(((await client.member.cpuUs()) - before) / requestsPerSlice);
      }
    }
  } finally {
    for (const client of clients) client.destroy();
  }
  return new Map(clients.map(({ member, samples }) => [member.name, samples]));
}

async function connectAll(port: number): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: connections }, () =>
    connect({ port, host: "127.0.0.1", noDelay: true }),
  );
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  return sockets;
}

class Client {
  readonly member: Member;
  readonly samples: number[] = [];
  readonly #sockets: readonly Socket[];

  constructor(member: Member, sockets: readonly Socket[]) {
    this.member = member;
    this.#sockets = sockets;
  }

  /** Each connection asks again as soon as it is answered. */
  run(count: number): Promise<void> {
    return new Promise((resolve, reject) => {
      let sent = 0;
      let answered = 0;
      const ask = (socket: Socket): void => {
        if (sent < count) socket.write(requests[sent++ % requests.length]?.bytes ?? "");
      };
      const fail = (why: string): void => reject(new Error(`${this.member.name}: ${why}`));
      for (const socket of this.#sockets) {
        let text = "";
        socket.removeAllListeners();
        socket.on("error", (error) => fail(error.message));
        socket.on("close", () => fail("a connection was closed"));
        socket.on("data", (chunk: Buffer) => {
          text += chunk.toString("latin1");
          if (!isWhole(text)) return;
          if (!text.startsWith("HTTP/1.1 200 ")) fail(text.slice(0, 200));
          text = "";
          answered++;
          if (answered === count) resolve();
          else ask(socket);
        });
        ask(socket);
      }
    });
  }

  destroy(): void {
    for (const socket of this.#sockets) socket.removeAllListeners().destroy();
  }
}

function isWhole(text: string): boolean {
  const end = text.indexOf("\r\n\r\n");
  if (end === -1) return false;
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
  if (length === undefined) throw new Error(`an answer without a length: ${text}`);
  return text.length >= end + 4 + Number(length);
}
