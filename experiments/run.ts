import { parseArgs } from "node:util";
import { asBuilt, type Experiment, runOf } from "./harness/experiment.ts";
import { createReport } from "./harness/report.ts";

/** Loaded on demand: most experiments load many modules, and only one runs at a time. */
const experiments: Readonly<Record<string, () => Promise<Experiment>>> = {
  "stop-under-load": async () => (await import("./stop-under-load.ts")).stopUnderLoad,
  "slow-clients": async () => (await import("./slow-clients.ts")).slowClients,
  "readiness-herd": async () => (await import("./readiness-herd.ts")).readinessHerd,
  "database-stall": async () => (await import("./database-stall.ts")).databaseStall,
  fuzz: async () => (await import("./fuzz.ts")).fuzz,
  "described-fuzz": async () => (await import("./described-fuzz.ts")).describedFuzz,
  "log-pressure": async () => (await import("./log-pressure.ts")).logPressure,
  "memory-soak": async () => (await import("./memory-soak.ts")).memorySoak,
  "one-trace": async () => (await import("./one-trace.ts")).oneTrace,
  "collector-faults": async () => (await import("./collector-faults.ts")).collectorFaults,
  "upstream-faults": async () => (await import("./upstream-faults.ts")).upstreamFaults,
  "gateway-stream": async () => (await import("./gateway-stream.ts")).gatewayStream,
  "tenant-leak": async () => (await import("./tenant-leak.ts")).tenantLeak,
  "search-tenants": async () => (await import("./search-tenants.ts")).searchTenants,
  "token-differential": async () => (await import("./token-differential.ts")).tokenDifferential,
  "issuer-confusion": async () => (await import("./issuer-confusion.ts")).issuerConfusion,
  "refresh-race": async () => (await import("./refresh-race.ts")).refreshRace,
  "logout-reach": async () => (await import("./logout-reach.ts")).logoutReach,
  "skewed-sign-out": async () => (await import("./skewed-sign-out.ts")).skewedSignOut,
  "redis-stall": async () => (await import("./redis-stall.ts")).redisStall,
  "key-rotation": async () => (await import("./key-rotation.ts")).keyRotation,
  "job-kills": async () => (await import("./job-kills.ts")).jobKills,
  "job-lease-races": async () => (await import("./job-lease-races.ts")).jobLeaseRaces,
  "lease-recovery": async () => (await import("./lease-recovery.ts")).leaseRecovery,
  "job-stop": async () => (await import("./job-stop.ts")).jobStop,
  "rollup-zones": async () => (await import("./rollup-zones.ts")).rollupZones,
  "rate-limit-replicas": async () => (await import("./rate-limit-replicas.ts")).rateLimitReplicas,
  "rollup-drift": async () => (await import("./rollup-drift.ts")).rollupDrift,
  "rollup-races": async () => (await import("./rollup-races.ts")).rollupRaces,
};

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
      only: { type: "string" },
    },
  });
  if (positionals.length === 0) {
    console.log(await usage());
    return 0;
  }
  const [name = ""] = positionals;
  const experiment = Object.hasOwn(experiments, name) ? await experiments[name]?.() : undefined;
  if (experiment === undefined || positionals.length > 1) {
    throw new Error(`name one experiment\n${await usage()}`);
  }
  const { variant, json, quick, only } = values;
  if (variant !== asBuilt && !experiment.brokenVariants.includes(variant)) {
    throw new Error(`--variant must be ${[asBuilt, ...experiment.brokenVariants].join(" or ")}`);
  }
  if (only !== undefined && experiment.parts?.includes(only) !== true) {
    throw new Error(`--only must be ${experiment.parts?.join(" or ") ?? "omitted: there is one part"}`);
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
      only,
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

async function usage(): Promise<string> {
  const all = await Promise.all(Object.values(experiments).map((load) => load()));
  return [
    "npm run experiments -- <name> [--variant V] [--runs N] [--seconds N] [--cases N] [--seed N] [--only PART] [--quick] [--json]",
    ...all.map(({ name, description, brokenVariants, parts }) => {
      const more = parts === undefined ? "" : `; parts: ${parts.join(", ")}`;
      return `  ${name.padEnd(16)} ${description}\n${" ".repeat(19)}must fail: ${brokenVariants.join(", ")}${more}`;
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
