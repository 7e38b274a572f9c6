import type { Bench } from "../harness/bench.ts";
import { peerBench, type PeerComparison } from "../harness/peer-bench.ts";

export const comparison: PeerComparison = {
  bench: "client",
  names: ["undici-request", "svc", "svc-context", "fetch"],
  module: new URL("./subject.ts", import.meta.url),
  unit: "call",
  bounds: [
    { to: "fetch", most: 0.5 },
    { to: "undici-request", most: 1.3 },
  ],
};

/** Measures the CPU time of a call to another process with the client of this collection and with its peers. */
export const client: Bench = peerBench(comparison);
