import { parseArgs } from "node:util";
import type { Bench, BenchOptions } from "./harness/bench.ts";

/** A bench, loaded on demand: loading all benches takes ten times as long as loading one. */
interface Entry {
  /** The question that the bench answers, in one line. */
  readonly description: string;
  load(): Promise<Bench>;
}

const benches: Readonly<Record<string, Entry>> = {
  http: {
    description:
      "the cost of a request with the packages, the whole service, bare Express and peers; has bounds",
    load: async () => (await import("./http/bench.ts")).http,
  },
  keyset: {
    description: "how often clients fetch a key set, and which find keys during an outage; svc has bounds",
    load: async () => (await import("./keyset/bench.ts")).keyset,
  },
  tokens: {
    description:
      "token pairs and refreshes per second, by algorithm and store; the cost of a revocation check",
    load: async () => (await import("./tokens/bench.ts")).tokens,
  },
  queue: {
    description: "jobs per second, enqueues and latency of svc, graphile-worker and pg-boss; svc has bounds",
    load: async () => (await import("./queue/bench.ts")).queue,
  },
  "queue-depth": {
    description:
      "the cost of a claim with many other rows or an old snapshot, and how far a table grows; has bounds",
    load: async () => (await import("./queue-depth/bench.ts")).queueDepth,
  },
  rollups: {
    description: "a panel of six totals, live and rolled up, and the refresh of a bucket; has bounds",
    load: async () => (await import("./rollups/bench.ts")).rollups,
  },
  search: {
    description: "recall and latency of one shared approximate index and of one per tenant; has bounds",
    load: async () => (await import("./search/bench.ts")).search,
  },
  ingest: {
    description:
      "chunks per second by COPY, by inserts, and with the index created before or after; has bounds",
    load: async () => (await import("./ingest/bench.ts")).ingest,
  },
  telemetry: {
    description: "the cost that tracing adds to a request and to a statement, with peers; has bounds",
    load: async () => (await import("./telemetry/bench.ts")).telemetry,
  },
  client: {
    description: "the cost of a call to another service, with undici and fetch; has bounds",
    load: async () => (await import("./client/bench.ts")).client,
  },
  gateway: {
    description: "the cost of a request that is passed on, with http-proxy-middleware; has bounds",
    load: async () => (await import("./gateway/bench.ts")).gateway,
  },
  "gateway-load": {
    description:
      "requests per second and p99 of svc, http-proxy-middleware, nginx and haproxy; needs wrk or h2load",
    load: async () => (await import("./gateway-load/bench.ts")).gatewayLoad,
  },
  "rate-limit": {
    description:
      "the cost of a limit, in memory and in Redis, and what it admits around a window; svc has bounds",
    load: async () => (await import("./rate-limit/bench.ts")).rateLimits,
  },
  "load-generator": {
    description:
      "requests per second and CPU time of svc, autocannon and wrk; percentiles of a known server; has bounds",
    load: async () => (await import("./load-generator/bench.ts")).loadGenerator,
  },
  openapi: {
    description:
      "the cost of a validated body, by hand, with svc and with express-openapi-validator; svc has bounds",
    load: async () => (await import("./openapi/bench.ts")).openapiBench,
  },
  budget: {
    description: "fails when a ratio of http grew over its baseline; needs SVC_PERF_BUDGET=1",
    load: async () => (await import("./budget.ts")).budget,
  },
};

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      socket: { type: "boolean", default: false },
      record: { type: "boolean", default: false },
      only: { type: "string" },
      rounds: { type: "string" },
      base: { type: "string" },
    },
  });
  const [name = ""] = positionals;
  const bench = Object.hasOwn(benches, name) ? benches[name] : undefined;
  if (bench === undefined || positionals.length !== 1) {
    console.error(usage());
    return 1;
  }
  const rounds = values.rounds === undefined ? undefined : Number(values.rounds);
  if (rounds !== undefined && !(Number.isInteger(rounds) && rounds >= 2)) {
    throw new Error("--rounds must be a whole number from 2");
  }
  const options: BenchOptions = {
    ...values,
    base: values.base,
    only: values.only?.split(",").map((each) => each.trim()),
    rounds,
    print: (line) => console.log(line),
    note: (line) => console.error(line),
  };
  return (await bench.load()).run(options);
}

function usage(): string {
  const names = Object.entries(benches).map(
    ([name, { description }]) => `  ${name.padEnd(12)} ${description}`,
  );
  return [
    "npm run bench -- <name> [--json] [--quick] [--socket] [--record] [--only case,case] [--rounds N] [--base DIR]",
    ...names,
  ].join("\n");
}

main().then(
  (code) => {
    process.exitCode = code;
    // Peers may leave timers behind: the rate limit of jwks-rsa would keep the process alive for nine minutes.
    setTimeout(() => process.exit(), 1000).unref();
  },
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  },
);
