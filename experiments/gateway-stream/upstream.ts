import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { readInBursts } from "./bursts.ts";
import { patternOf } from "./pattern.ts";

/** Milliseconds between two parts of an endless response. */
const everyMs = 10;

/** A request of a client that disconnects, as the service sees it. */
export interface Cut {
  /** Resolves when the first bytes of the body have arrived, or the first bytes of the response were written. */
  readonly begun: Promise<void>;
  /** Resolves with the time of the end, by `performance.now()`. */
  readonly ended: Promise<number>;
}

/** The service behind the gateway. */
export interface Upstream extends AsyncDisposable {
  readonly url: string;
  /** Returns the request with an id, and waits for it if it has not arrived yet. */
  cut(id: string): Cut;
}

interface PendingCut {
  readonly begun: PromiseWithResolvers<void>;
  readonly ended: PromiseWithResolvers<number>;
}

/**
 * Starts a service with the paths `/stream/download?bytes=N`, `/stream/upload?pause=MS`, which reads slowly, and
 * `/stream/endless?id=ID`, whose requests or responses never end.
 */
export async function startUpstream(): Promise<Upstream> {
  const cuts = new Map<string, PendingCut>();
  const pending = (id: string): PendingCut => {
    const found = cuts.get(id) ?? { begun: Promise.withResolvers(), ended: Promise.withResolvers() };
    cuts.set(id, found);
    return found;
  };
  const server = createServer({ requestTimeout: 0 }, (req, res) => {
    const { pathname, searchParams } = new URL(req.url ?? "", "http://upstream");
    const number = (name: string): number => Number(searchParams.get(name));
    if (pathname === "/stream/download") download(res, number("bytes"));
    else if (pathname === "/stream/upload") void upload(req, res, number("pause"));
    else endless(req, res, pending(searchParams.get("id") ?? ""));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cut(id) {
      const { begun, ended } = pending(id);
      return { begun: begun.promise, ended: ended.promise };
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function download(res: ServerResponse, bytes: number): void {
  res.writeHead(200, { "Content-Length": bytes });
  Readable.from(patternOf(bytes), { objectMode: false })
    .on("error", () => undefined)
    .pipe(res);
}

async function upload(req: IncomingMessage, res: ServerResponse, pauseMs: number): Promise<void> {
  const { bytes, matches } = await readInBursts(req, pauseMs);
  res.end(JSON.stringify({ bytes, matches }));
}

function endless(req: IncomingMessage, res: ServerResponse, { begun, ended }: PendingCut): void {
  req
    .on("error", () => undefined)
    .once("data", () => begun.resolve())
    .resume();
  res.on("error", () => undefined).on("close", () => ended.resolve(performance.now()));
  if (req.method !== "GET") return;
  const timer = setInterval(() => {
    if (!res.writableNeedDrain) res.write(Buffer.alloc(16 * 1024));
    begun.resolve();
  }, everyMs);
  res.on("close", () => clearInterval(timer));
}
