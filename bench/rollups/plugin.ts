import { createDatabase } from "@svc/database";
import { createService, type Service } from "@svc/express";
import type { RollupQuery, Total } from "@svc/rollups";
import type { Queryable } from "@svc/sql";
import type { BenchOptions } from "../harness/bench.ts";
import { expectEqual } from "../harness/expect-equal.ts";
import type { Verdict } from "../harness/verdicts.ts";
import { BASE, CONTROL, measureBeside, type Side, type Sides, verdictsBeside } from "../harness/beside.ts";
import type { Ledger } from "./data.ts";
import { expectWhole, TENANTS } from "./measure.ts";
import { liveSix, sixTotals } from "./panel.ts";
import { printTimes } from "./report.ts";

/** Maximum ratio of a panel through `service.rollups` to the same panel by `rollup.query()`. */
const MOST = 1.05;
/** Connections of each pool. The calls of a panel are sequential, so each side uses one. */
const CONNECTIONS = 10;

/** Queries the totals of a tenant. */
type Query = (tenant: string, query: RollupQuery) => Promise<readonly Total[]>;

/** Measures the panel through the plugin `rollups` of a service, and the same calls with the database as an argument. */
export async function runPlugin(
  url: string,
  on: Queryable,
  ledger: Ledger,
  options: BenchOptions,
): Promise<readonly Verdict[]> {
  const { quick, rounds = quick ? 1 : 12 } = options;
  const verdicts: Verdict[] = [];
  for (const [size, tenant] of Object.entries(TENANTS)) {
    const expected = await liveSix(on, ledger, tenant);
    expectWhole(expected);
    const open = async (): Promise<Sides<string>> => {
      const opened = await openSides(url, ledger);
      try {
        for (const [name, query] of Object.entries(opened.queries)) {
          const panel = await sixTotals((each) => query(tenant, each));
          expectEqual(`the panel of ${tenant} by ${name}`, JSON.stringify(panel), JSON.stringify(expected));
        }
      } catch (error) {
        await opened.close();
        throw error;
      }
      const all = Object.entries(opened.queries).map(([name, query]) => sideOf(name, query));
      return { all, [Symbol.asyncDispose]: () => opened.close() };
    };
    const panels = Array.from({ length: quick ? 3 : 30 }, () => tenant);
    const times = await measureBeside(open, panels, rounds, options);
    const metrics = [...times].map(([name, each]) => ({ metric: `plugin/${size}/${name}`, times: each }));
    printTimes(metrics, options);
    verdicts.push(...verdictsBeside(`plugin/${size}`, times, { service: MOST }));
  }
  return verdicts;
}

async function openSides(
  url: string,
  ledger: Ledger,
): Promise<{ readonly queries: Readonly<Record<string, Query>>; close(): Promise<void> }> {
  await using made = new AsyncDisposableStack();
  const db = made.use(createDatabase({ url, max: CONNECTIONS }));
  const otherDb = made.use(createDatabase({ url, max: CONNECTIONS }));
  const service = made.use(await startService(url, ledger));
  const totals = service.rollups?.["monthly"];
  if (totals === undefined) throw new Error("the service has no rollups");
  const { rollup } = ledger;
  const all = made.move();
  return {
    queries: {
      [BASE]: (tenant, query) => rollup.query(db, tenant, query),
      service: (tenant, query) => totals.query(tenant, query),
      [CONTROL]: (tenant, query) => rollup.query(otherDb, tenant, query),
    },
    close: () => all.disposeAsync(),
  };
}

function sideOf(name: string, query: Query): Side<string> {
  return {
    name,
    async time(tenant) {
      const begun = performance.now();
      await sixTotals((each) => query(tenant, each));
      return performance.now() - begun;
    },
  };
}

async function startService(url: string, { rollup }: Ledger): Promise<Service> {
  const service = await createService({
    config: {
      toml: `
[service]
name = "bench"
port = 0
drain_delay = 0
[plugins]
enabled = ["database", "rollups"]
[plugin.database]
url = ${JSON.stringify(url)}
max = ${CONNECTIONS}
`,
    },
    env: { SVC_ENV: "prod" },
    signals: false,
    logDestination: { write: () => undefined },
    rollups: { monthly: rollup },
  });
  await service.start();
  return service;
}
