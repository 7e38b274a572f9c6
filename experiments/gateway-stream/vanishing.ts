import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import type { Upstream } from "./upstream.ts";

const CONCURRENT = 20;
/** Milliseconds between two parts of an upload, and the maximum before the client disconnects. */
const everyMs = 10;
const mostMs = 50;
/** Milliseconds after which a request that has not ended at the service counts as endless. */
const patienceMs = 10_000;

/** The activity of a client when it disconnects: it reads a response, does not read it, or sends a body. */
export const kinds = ["response", "unread response", "upload"] as const;

/** One client that disconnected. */
export interface Vanished {
  readonly kind: (typeof kinds)[number];
  /** Milliseconds until its request ended at the service; infinite if it did not end. */
  readonly ms: number;
}

/** Makes clients disconnect in the middle of a response or of an upload, one half with a reset. */
export async function vanish(port: number, upstream: Upstream, count: number): Promise<readonly Vanished[]> {
  const vanished: Vanished[] = [];
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < count) vanished.push(await vanishOnce(port, upstream, next++));
  };
  await Promise.all(Array.from({ length: CONCURRENT }, work));
  return vanished;
}

async function vanishOnce(port: number, upstream: Upstream, index: number): Promise<Vanished> {
  const kind = kinds[index % kinds.length] ?? "response";
  const id = String(index);
  const { begun, ended } = upstream.cut(id);
  const socket = connect({ port, host: "127.0.0.1" }).on("error", () => undefined);
  const stopSending = begin(socket, kind, id);
  const isBegun = await Promise.race([begun.then(() => true), delay(patienceMs, false, { ref: false })]);
  await delay(Math.random() * mostMs);
  const at = performance.now();
  stopSending();
  if (index % 2 === 0) socket.destroy();
  else socket.resetAndDestroy();
  const end = await Promise.race([ended, delay(patienceMs, Infinity, { ref: false })]);
  return { kind, ms: isBegun ? end - at : Infinity };
}

/** Sends a request. Returns a function that stops sending its body. */
function begin(socket: Socket, kind: Vanished["kind"], id: string): () => void {
  const isUpload = kind === "upload";
  socket.write(
    `${isUpload ? "PUT" : "GET"} /stream/endless?id=${id} HTTP/1.1\r\nHost: x\r\n` +
      `${isUpload ? "Content-Length: 1000000000\r\n" : ""}\r\n`,
  );
  if (kind !== "unread response") socket.resume();
  if (!isUpload) return () => undefined;
  const timer = setInterval(() => socket.write(Buffer.alloc(1024)), everyMs);
  return () => clearInterval(timer);
}
