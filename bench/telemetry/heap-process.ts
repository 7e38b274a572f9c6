// Sends requests whose spans go to a collector that behaves as the first argument specifies, and prints the size of the
// heap.
import { createServer } from "node:http";
import express from "express";
import { createInjector } from "../harness/injector.ts";
import { addRoute, openTraffic } from "../http/route.ts";
import { exportingAll } from "./export-all.ts";
import { ours } from "./ours.ts";
import { startReceiver } from "./receiver.ts";

/** The JSON output of the process. */
export interface HeapReport {
  /** The size of the heap after the last request and a garbage collection. */
  readonly heapMb: number;
  readonly exported: number;
  readonly dropped: number;
}

const behaviour = process.argv[2] === "hang" ? "hang" : "accept";
const count = Number(process.argv[3]);

const receiver = await startReceiver(behaviour);
const tracing = await ours({ tracesEndpoint: receiver.url });
const app = express();
app.use(tracing);
addRoute(app);
const injector = createInjector(createServer(app));
const send = (requests: number): Promise<void> => injector.run(openTraffic.requests, requests);
await (behaviour === "hang" ? send(count) : exportingAll(tracing, send)(count));
// The second collection also frees what finalizers of the first one released.
globalThis.gc?.();
globalThis.gc?.();
const { exported, dropped } = tracing.counts();
const heapMb = process.memoryUsage().heapUsed / 2 ** 20;
console.log(JSON.stringify({ heapMb, exported, dropped } satisfies HeapReport));
process.exit();
