import { randomBytes } from "node:crypto";
import { pluginNames } from "@svc/config";
import { testDatabase, testNats, testRedis } from "@svc/dev-services";
import { signToken } from "@svc/test-support";
import { expect } from "chai";
import pg from "pg";
import request from "supertest";
import { embed, ragOn } from "./support/rag-service.ts";
import { faultsOf } from "./support/refusal.ts";
import { startService, type TestServiceOptions } from "./support/test-service.ts";
import { vectorServer } from "./support/vector-server.ts";

const secret = randomBytes(32).toString("base64");

/** The settings of a bus, which the plugin `events` needs only with several services. */
const BUS = 'bus = "nats"\nurl = "${NATS_URL}"';

/** The configuration tables of the plugins that require settings. */
const tables: Readonly<Record<string, string>> = {
  cache: '[plugin.cache]\nurl = "${REDIS_URL}"',
  auth: `[plugin.auth]\nmode = "secret"\nalgorithms = ["HS256"]\nsecret = "${secret}"`,
  tenancy: '[plugin.tenancy]\nsources = ["token"]',
  database: '[plugin.database]\nurl = "${DATABASE_URL}"',
  http: '[plugin.http.upstreams.billing]\nbase_url = "http://127.0.0.1:1"',
  telemetry: '[plugin.telemetry]\nexporter = "memory"',
  events: `[plugin.events]\n${BUS}`,
  gateway: '[plugin.gateway.routes.billing]\nprefix = "/billing"\ntargets = ["http://127.0.0.1:1"]',
  rag: "[plugin.rag]\ndimensions = 3",
};

const totals = {
  source: { table: "expenses", tenantColumn: "tenant_id", timeColumn: "spent_at" },
  measures: { n: { sql: "count(*)", type: "bigint" } },
} as const;

function enabling(names: readonly string[]): string {
  return `\n[plugins]\nenabled = ${JSON.stringify(names)}\n${names.map((name) => tables[name] ?? "").join("\n")}\n`;
}

describe("each plugin name in [plugins] enabled", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "each-plugin" });
  const redis = testRedis();

  /** The requirements of a plugin besides its own table, and its error message without them. */
  const needs: Readonly<
    Record<string, { readonly message: RegExp; readonly with?: readonly string[]; readonly code?: object }>
  > = {
    queue: { message: /needs a database: add database/, with: ["database"] },
    rag: {
      message: /has no embedder: pass rag\.embed/,
      with: ["database", "tenancy", "auth"],
      code: { rag: { embed } },
    },
    rollups: {
      message: /pass rollups to createService\(\)/,
      with: ["database"],
      code: { rollups: { totals } },
    },
    llm: { message: /llm is not implemented yet/ },
    storage: { message: /storage is not implemented yet/ },
    scheduler: { message: /the plugin queue runs schedules: remove scheduler/ },
  };
  const env = (): Record<string, string> => ({
    DATABASE_URL: database.url,
    REDIS_URL: redis.url,
    NATS_URL: "",
  });

  for (const name of pluginNames) {
    const need = needs[name];
    const rejected = "is rejected with an error that states the remedy";
    const result =
      need === undefined ? "starts" : need.with === undefined ? rejected : `${rejected}, and starts with it`;
    it(`CFG-7 CFG-8 ${name} ${result}`, async () => {
      if (need !== undefined) {
        const faults = await faultsOf({ toml: enabling([name]).replace(BUS, ""), env: env() });
        expect(faults.map(({ key, message }) => `${key}: ${message}`).join("\n")).to.match(need.message);
        if (need.with === undefined) return;
      }
      const toml = enabling([...(need?.with ?? []), name]).replace(BUS, "");
      const options: TestServiceOptions = { toml, env: env(), ...need?.code };
      await using test = await startService(options);
      expect((await request(test.url).get("/health")).status).to.equal(200);
    });
  }
});

describe("all plugins together", function () {
  this.timeout(60_000);
  const server = vectorServer();
  const redis = testRedis();
  const nats = testNats();

  it("CFG-6 start, are ready, and stop in order", async () => {
    const url = await server.database();
    await createSource(url);
    const built = pluginNames.filter((name) => !["llm", "storage", "scheduler"].includes(name));
    const stopped: string[] = [];
    const test = await startService({
      ...ragOn(url),
      toml: enabling(built),
      env: { DATABASE_URL: url, REDIS_URL: redis.url, NATS_URL: nats.url },
      rollups: { totals },
      jobs: { note: () => undefined },
      schedules: { often: { everySeconds: 3600, task: "note" } },
      subscribers: { "expense.recorded": { note: () => undefined } },
    });
    for (const phase of ["intake", "work", "flush", "close"] as const)
      test.service.onStop(phase, () => void stopped.push(phase));
    for (;;) {
      const { status, body } = await request(test.url).get("/ready");
      const { checks } = body as { readonly checks: Readonly<Record<string, { readonly healthy: boolean }>> };
      const failing = Object.entries(checks).filter(([, { healthy }]) => !healthy);
      if (status !== 200 || failing.length > 0) continue;
      expect(checks).to.include.keys("database", "cache", "search", "rollups", "rate_limit", "gateway");
      break;
    }
    const token = signToken({ sub: "ann", roles: ["admin"] }, secret);
    const info = await request(test.url).get("/info").auth(token, { type: "bearer" });
    const { plugins } = info.body as { readonly plugins: readonly { readonly name: string }[] };
    expect(plugins.map(({ name }) => name)).to.include.members(built);
    await test[Symbol.asyncDispose]();
    expect(stopped).to.deep.equal(["intake", "work", "flush", "close"]);
    const phases = test.lines.filter(({ message }) => message === "stopping").map(({ phase }) => phase);
    expect(phases).to.deep.equal(["drain", "server", "intake", "work", "flush", "close", "done"]);
  });
});

async function createSource(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("create table expenses (tenant_id text not null, spent_at timestamptz not null)");
  await client.end();
}
