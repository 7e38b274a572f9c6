import { globSync } from "node:fs";
import { testPostgresServer } from "@svc/dev-services";
import { createSearchStore, hasVector, type SearchStore } from "@svc/search-store";
import type { Database } from "@svc/sql";
import { endingOf, until, whileExhausted, whileFrozen } from "@svc/test-support";
import { expect } from "chai";
import { Client, Pool } from "pg";

const CODE = "ERR_SVC_SQL_DEADLINE";
const TIMEOUTS = { commandTimeoutMs: 300, maintenanceTimeoutMs: 300 };
const CHUNK = { content: "a text", embedding: [1, 0, 0] };

const CALLS: Readonly<Record<string, (store: SearchStore) => Promise<unknown>>> = {
  ensureSchema: (store) => store.ensureSchema(),
  ingest: (store) => store.ingest("acme", "one", [CHUNK]),
  ingestBulk: (store) => store.ingestBulk("acme", [{ ...CHUNK, documentId: `two ${Math.random()}` }]),
  deleteDocument: (store) => store.deleteDocument("acme", "one"),
  deleteTenant: (store) => store.deleteTenant("acme"),
  list: (store) => store.list("acme"),
  stats: (store) => store.stats("acme"),
  search: (store) => store.search("acme", { vector: [1, 0, 0] }),
  ensureTenantIndex: (store) => store.ensureTenantIndex("acme"),
  dropTenantIndex: (store) => store.dropTenantIndex("acme"),
  maintainIndexes: (store) => store.maintainIndexes(),
  largestTenants: (store) => store.largestTenants(10),
  recall: (store) => store.recall("acme"),
};
const WITH_VECTOR = globSync("/usr/{lib,share}/postgresql/*/{lib/vector.so,extension/vector.control}");
const WITHOUT_STATEMENTS = ["migrations", "readiness"];

// These calls fail before they need pgvector. Only on a server with pgvector do the tests repeat the call successfully.
describe("a search store with deadlines on a plain pool", function () {
  this.timeout(60_000);
  const postgres = testPostgresServer(WITH_VECTOR.length > 0 ? { only: "system" } : {});
  let pool: Pool;
  let canAnswer: boolean;

  const open = (db: Database = pool, options: object = TIMEOUTS): SearchStore =>
    createSearchStore({ db, dimensions: 3, ...options });

  before(async () => {
    const first = new Pool({ connectionString: postgres.url });
    canAnswer = await hasVector(first);
    if (canAnswer) await open(first, {}).ensureSchema();
    await first.end();
  });
  beforeEach(async () => {
    pool = new Pool({ connectionString: postgres.url, max: 1 });
    pool.on("error", () => undefined);
    await pool.query("select 1");
  });
  afterEach(() => pool.end());

  async function worksAgain(call: (store: SearchStore) => Promise<unknown>): Promise<void> {
    if (canAnswer) await call(open(pool, {}));
    else expect((await pool.query("select 1")).rowCount).to.equal(1);
  }

  it("is tested with every method except migrations() and readiness()", () => {
    const functions = Object.entries(open()).flatMap(([name, value]) =>
      typeof value === "function" ? [name] : [],
    );
    expect(functions.toSorted()).to.deep.equal([...Object.keys(CALLS), ...WITHOUT_STATEMENTS].toSorted());
  });

  for (const [name, call] of Object.entries(CALLS)) {
    for (const [how, options] of [
      ["", TIMEOUTS],
      [" with row security", { ...TIMEOUTS, rowSecurity: true }],
    ] as const) {
      it(`${name} rejects while the database is frozen${how}, closes its connection, and works again afterwards`, async () => {
        let connections: number | undefined;
        const { code } = await whileFrozen(postgres.server, async () => {
          const ending = call(open(pool, options));
          await endingOf(ending);
          connections = pool.totalCount;
          return ending;
        });
        expect([code, connections]).to.deep.equal([CODE, 0]);
        await worksAgain(call);
      });
    }

    it(`${name} rejects while all connections of the pool are in use`, async () => {
      expect((await whileExhausted(pool, () => call(open()))).code).to.equal(CODE);
      await until("the connection is back", () => pool.waitingCount === 0 && pool.idleCount === 1);
      await worksAgain(call);
    });

    it(`${name} rejects on the caller's frozen connection, and leaves it open`, async () => {
      const client = new Client({ connectionString: postgres.url });
      await client.connect();
      expect((await whileFrozen(postgres.server, () => call(open(client)))).code).to.equal(CODE);
      await client.query("rollback");
      await client.end();
    });
  }

  it("reports readiness as unhealthy while the database is frozen and while the pool is exhausted", async () => {
    const check = (): Promise<unknown> =>
      Promise.resolve(open().readiness().check(new AbortController().signal));
    const unhealthy = { healthy: false, critical: false, detail: "no answer within 300 ms" };
    expect((await whileFrozen(postgres.server, check)).value).to.deep.equal(unhealthy);
    expect((await whileExhausted(pool, check)).value).to.deep.equal(unhealthy);
  });

  it("rejects ingestBulk when the database freezes during the load, and keeps no rows", async function () {
    if (!canAnswer) this.skip();
    async function* load(): AsyncGenerator<typeof CHUNK & { documentId: string }> {
      const content = "x".repeat(100_000);
      for (let n = 0; n < 400; n++) {
        if (n === 100) postgres.server.pause();
        yield { ...CHUNK, content, documentId: `frozen ${n}` };
      }
    }
    const { code } = await endingOf(open().ingestBulk("acme", load()));
    const connections = pool.totalCount;
    postgres.server.resume();
    expect([code, connections]).to.deep.equal([CODE, 0]);
    expect(await open(pool, {}).list("acme")).to.deep.equal({ chunks: [] });
    await CALLS["ingestBulk"]!(open(pool, {}));
  });

  it("drops the unfinished index of a tenant when its build exceeds the deadline, and allows another build", async function () {
    if (!canAnswer) this.skip();
    const large = new Pool({ connectionString: postgres.url, max: 3 });
    const holder = await large.connect();
    await open(large, {}).ingest("acme", "one", [CHUNK]);
    await holder.query("begin");
    await holder.query("lock table svc_chunks in access exclusive mode");
    const { code } = await endingOf(open(large).ensureTenantIndex("acme"));
    await holder.query("rollback");
    holder.release();
    expect(code).to.equal(CODE);
    expect(await open(large, {}).ensureTenantIndex("acme")).to.include({ valid: true });
    await large.end();
  });
});
