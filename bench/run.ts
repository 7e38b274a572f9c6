import { parseArgs } from "node:util";
import type { Bench, BenchOptions } from "./harness/bench.ts";
import { budget } from "./budget.ts";
import { http } from "./http/bench.ts";
import { ingest } from "./ingest/bench.ts";
import { keyset } from "./keyset/bench.ts";
import { queue } from "./queue/bench.ts";
import { queueDepth } from "./queue-depth/bench.ts";
import { search } from "./search/bench.ts";
import { rollups } from "./rollups/bench.ts";
import { tokens } from "./tokens/bench.ts";

const benches: Readonly<Record<string, Bench>> = {
  http,
  keyset,
  tokens,
  queue,
  "queue-depth": queueDepth,
  rollups,
  search,
  ingest,
  budget,
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
    only: values.only?.split(",").map((each) => each.trim()),
    rounds,
    print: (line) => console.log(line),
    note: (line) => console.error(line),
  };
  return bench.run(options);
}

function usage(): string {
  const names = Object.entries(benches).map(
    ([name, { description }]) => `  ${name.padEnd(12)} ${description}`,
  );
  return [
    "npm run bench -- <name> [--json] [--quick] [--socket] [--record] [--only case,case] [--rounds N]",
    ...names,
  ].join("\n");
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  },
);
