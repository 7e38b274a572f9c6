import type { Bench } from "../harness/bench.ts";
import { peerBench, type PeerComparison } from "../harness/peer-bench.ts";

export const comparison: PeerComparison = {
  bench: "gateway",
  names: ["http-proxy-middleware", "svc", "bare-undici"],
  module: new URL("./subject.ts", import.meta.url),
  unit: "request",
  hasThroughput: true,
  bounds: [{ to: "http-proxy-middleware", most: 0.6 }],
};

/** Measures the CPU time of a process that forwards requests to another process. */
export const gateway: Bench = peerBench(comparison);
