// Counts requests of a million addresses in memory, and prints how much the heap has grown after each quarter of them.
import { rateLimit } from "@svc/rate-limit";
import type { IncomingMessage, ServerResponse } from "node:http";

/** The JSON output of the process: the growth in MB after 250,000, 500,000, 750,000 and 1,000,000 addresses. */
export type Growth = readonly number[];

const ADDRESSES = 1_000_000;
const QUARTERS = 4;

const limit = rateLimit();
const res = { headersSent: false, setHeader: () => undefined } as unknown as ServerResponse;
const heapMb = (): number => {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / 2 ** 20;
};

const before = heapMb();
const growth: number[] = [];
for (let sent = 1; sent <= ADDRESSES; sent++) {
  const remoteAddress = `${10 + (sent >> 24)}.${(sent >> 16) & 255}.${(sent >> 8) & 255}.${sent & 255}`;
  const req = { url: "/items", headers: {}, socket: { remoteAddress } } as unknown as IncomingMessage;
  limit(req, res, (error) => {
    if (error !== undefined) throw error;
  });
  if (sent % (ADDRESSES / QUARTERS) === 0) growth.push(Math.round((heapMb() - before) * 10) / 10);
}
console.log(JSON.stringify(growth satisfies Growth));
