// A server whose latencies are known to a tenth of a millisecond. Timers of Node.js are ten times less precise, so it
// checks in every turn of the event loop which response is due. Other work on the machine still delays responses, so the
// server also records their real durations: GET /percentiles returns these, and begins a new list. It ends with the process
// that started it.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { latencyOf, type Percentiles } from "./known-latencies.ts";

interface Waiting {
  readonly arrivedAt: number;
  readonly due: number;
}

const waiting = new Map<ServerResponse, Waiting>();
let requests = 0;
let latencies: number[] = [];

const server = createServer((req, res) => {
  if (req.url === "/percentiles") {
    res.end(JSON.stringify(percentiles()));
    return;
  }
  const arrivedAt = performance.now();
  if (waiting.size === 0) setImmediate(answerDue);
  waiting.set(res, { arrivedAt, due: arrivedAt + latencyOf(requests++) });
});

function answerDue(): void {
  const now = performance.now();
  for (const [res, { arrivedAt, due }] of waiting) {
    if (due > now) continue;
    waiting.delete(res);
    res.end("{}");
    latencies.push(now - arrivedAt);
  }
  if (waiting.size > 0) setImmediate(answerDue);
}

function percentiles(): Percentiles {
  const sorted = latencies.toSorted((a, b) => a - b);
  latencies = [];
  const at = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? Number.NaN;
  return { p50Ms: at(0.5), p95Ms: at(0.95), p99Ms: at(0.99) };
}

server.listen(0, "127.0.0.1", () => {
  process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
});
process.once("disconnect", () => process.exit());
