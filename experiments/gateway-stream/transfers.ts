import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { readInBursts } from "./bursts.ts";
import { patternOf } from "./pattern.ts";

/** The bytes that arrived at the other end of a transfer. */
export interface Arrived {
  readonly bytes: number;
  readonly matches: boolean;
}

/** A transfer through a gateway in one direction. */
export type Transfer = (
  port: number,
  bytes: number,
  pauseMs: number,
  signal: AbortSignal,
) => Promise<Arrived>;

/** Downloads bytes, and reads them in bursts. */
export const download: Transfer = async (port, bytes, pauseMs, signal) => {
  const path = `/stream/download?bytes=${bytes}`;
  const sent = request({ host: "127.0.0.1", port, path, agent: false, signal });
  sent.on("error", () => undefined).end();
  const [res] = (await once(sent, "response")) as [IncomingMessage];
  return readInBursts(res, pauseMs);
};

/** Uploads bytes to a service that reads them in bursts, as fast as the gateway accepts them. */
export const upload: Transfer = async (port, bytes, pauseMs, signal) => {
  const headers = { "Content-Length": bytes };
  const path = `/stream/upload?pause=${pauseMs}`;
  const sent = request({ host: "127.0.0.1", port, path, method: "PUT", headers, agent: false, signal });
  sent.on("error", () => undefined);
  Readable.from(patternOf(bytes), { objectMode: false }).pipe(sent);
  try {
    const [res] = (await once(sent, "response")) as [IncomingMessage];
    return JSON.parse(await text(res)) as Arrived;
  } catch {
    return { bytes: 0, matches: false };
  }
};
