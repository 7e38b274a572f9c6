import { connect, type Socket } from "node:net";
import { once } from "node:events";
import { type Member, startCrew } from "../harness/crew.ts";
import type { Measured } from "../harness/rounds.ts";
import type { Case } from "../harness/subject.ts";

const connections = 16;

/**
 * Measures the cases including kernel and HTTP parser: a client in this process sends requests over keep-alive
 * connections.
 */
export async function measureOverSockets(
  cases: readonly Case[],
  rounds: number,
  requestsPerSlice = 2_000,
): Promise<Measured> {
  await using crew = await startCrew(cases, true);
  const targets: Target[] = [];
  for (const member of crew.members) {
    const { port, requests } = await member.listen();
    const target = { member, port, requests: rotationOf(requests), samples: [] };
    targets.push(target);
    await slice(target, requestsPerSlice);
  }
  for (let round = 1; round <= rounds; round++) {
    for (const target of round % 2 === 0 ? targets.toReversed() : targets) {
      target.samples.push(await slice(target, requestsPerSlice));
    }
  }
  return new Map(targets.map(({ member, samples }) => [member.name, samples]));
}

interface Target {
  readonly member: Member;
  readonly port: number;
  /** Returns the bytes of the next request. */
  readonly requests: () => Buffer;
  readonly samples: number[];
}

function rotationOf(requests: readonly string[]): () => Buffer {
  const bytes = requests.map((request) => Buffer.from(request, "latin1"));
  let place = 0;
  return () => bytes[place++ % bytes.length] as Buffer;
}

/** Returns the server's cost of a request, in microseconds. */
async function slice({ member, port, requests }: Target, count: number): Promise<number> {
  // Open new connections for each slice, outside the measured time: servers close connections that are idle until the
  // next round.
  const sockets = await connectAll(port);
  try {
    await ask(sockets, requests, connections);
    const before = await member.cpuUs();
    await ask(sockets, requests, count);
    return ((await member.cpuUs()) - before) / count;
  } catch (error) {
    throw new Error(`${member.name}: ${(error as Error).message}`, { cause: error });
  } finally {
    for (const socket of sockets) socket.removeAllListeners().destroy();
  }
}

async function connectAll(port: number): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: connections }, () =>
    connect({ port, host: "127.0.0.1", noDelay: true }),
  );
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  return sockets;
}

/** Sends `count` requests in total; each connection sends its next request after the response to the previous one. */
function ask(sockets: readonly Socket[], requests: () => Buffer, count: number): Promise<void> {
  return new Promise((resolve, reject) => {
    let sent = 0;
    let answered = 0;
    const send = (socket: Socket): void => {
      if (sent++ < count) socket.write(requests());
    };
    for (const socket of sockets) {
      let text = "";
      socket.removeAllListeners();
      socket.on("error", reject);
      socket.on("close", () => reject(new Error("the server closed a connection")));
      socket.on("data", (chunk: Buffer) => {
        text += chunk.toString("latin1");
        const end = endOf(text);
        if (end === undefined || text.length < end) return;
        if (!text.startsWith("HTTP/1.1 200 ")) reject(new Error(text.slice(0, 200)));
        text = "";
        answered++;
        if (answered === count) resolve();
        else send(socket);
      });
      send(socket);
    }
  });
}

/** Returns the length of the response; undefined before its head is complete. */
function endOf(text: string): number | undefined {
  const head = text.indexOf("\r\n\r\n");
  if (head === -1) return undefined;
  const length = /\r\ncontent-length: (\d+)/i.exec(text)?.[1];
  return length === undefined ? text.length : head + 4 + Number(length);
}
