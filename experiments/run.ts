import { parseArgs } from "node:util";
import { databaseStall } from "./database-stall.ts";
import { asBuilt, type Experiment, runOf } from "./harness/experiment.ts";
import { createReport } from "./harness/report.ts";
import { fuzz } from "./fuzz.ts";
import { jobKills } from "./job-kills.ts";
import { jobLeaseRaces } from "./job-lease-races.ts";
import { jobStop } from "./job-stop.ts";
import { keyRotation } from "./key-rotation.ts";
import { logoutReach } from "./logout-reach.ts";
import { logPressure } from "./log-pressure.ts";
import { memorySoak } from "./memory-soak.ts";
import { readinessHerd } from "./readiness-herd.ts";
import { redisStall } from "./redis-stall.ts";
import { refreshRace } from "./refresh-race.ts";
import { rollupRaces } from "./rollup-races.ts";
import { rollupZones } from "./rollup-zones.ts";
import { searchTenants } from "./search-tenants.ts";
import { slowClients } from "./slow-clients.ts";
import { stopUnderLoad } from "./stop-under-load.ts";
import { tokenDifferential } from "./token-differential.ts";
import { tenantLeak } from "./tenant-leak.ts";

const experiments: readonly Experiment[] = [
  stopUnderLoad,
  slowClients,
  readinessHerd,
  databaseStall,
  fuzz,
  logPressure,
  memorySoak,
  tenantLeak,
  searchTenants,
  tokenDifferential,
  refreshRace,
  logoutReach,
  redisStall,
  keyRotation,
  jobKills,
  jobLeaseRaces,
  jobStop,
  rollupZones,
  rollupRaces,
];

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      json: { type: "boolean", default: false },
      quick: { type: "boolean", default: false },
      variant: { type: "string", default: asBuilt },
      runs: { type: "string" },
      seconds: { type: "string" },
      cases: { type: "string" },
      seed: { type: "string" },
    },
  });
  if (positionals.length === 0) {
    console.log(usage());
    return 0;
  }
  const [name] = positionals;
  const experiment = experiments.find((each) => each.name === name);
  if (experiment === undefined || positionals.length > 1) throw new Error(`which experiment?\n${usage()}`);
  const { variant, json, quick } = values;
  if (variant !== asBuilt && !experiment.brokenVariants.includes(variant)) {
    throw new Error(`--variant is ${[asBuilt, ...experiment.brokenVariants].join(" or ")}`);
  }
  const report = createReport(experiment.name, (line) => console.log(line), json);
  report.note(`${experiment.name}, ${variant}: ${experiment.description}`);
  await experiment.run(
    runOf({
      variant,
      quick,
      runs: wholeNumber("runs", values.runs),
      seconds: wholeNumber("seconds", values.seconds),
      cases: wholeNumber("cases", values.cases),
      seed: wholeNumber("seed", values.seed),
    }),
    report,
  );
  if (json) for (const each of report.broken) console.error(`broken: ${each}`);
  return report.broken.length === 0 ? 0 : 1;
}

function wholeNumber(option: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`--${option} must be a whole number from 1`);
  return Number(text);
}

function usage(): string {
  return [
    "npm run experiments -- <name> [--variant V] [--runs N] [--seconds N] [--cases N] [--seed N] [--quick] [--json]",
    ...experiments.map(({ name, description, brokenVariants }) => {
      return `  ${name.padEnd(16)} ${description}\n${" ".repeat(19)}must fail: ${brokenVariants.join(", ")}`;
    }),
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
