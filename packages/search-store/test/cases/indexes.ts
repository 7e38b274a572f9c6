import { setTimeout as pause } from "node:timers/promises";
import { createSearchStore, type SearchStore, type StoreEvent } from "@svc/search-store";
import { expect } from "chai";
import type { Connectable } from "@svc/sql";
import { Pool } from "pg";
import { SELECT_INDEXES } from "../../src/index-care/tenant-index.ts";
import { newTable, type useBackends } from "../support/backends.ts";
import { direction, seeded } from "../support/random.ts";
import { refusal } from "../support/refusal.ts";
import { skipPauses } from "../support/skip-pauses.ts";
import { planOf, watched } from "../support/watched.ts";

const DIMENSIONS = 8;
const HOSTILE = "o'r\"k \\ $1; drop table x --";

/**
 * Defines tests that run on one database only, the real server if there is one: on the embedded database the builds
 * take too long, and another test covers that it can build an index.
 */
export function indexCases(backends: ReturnType<typeof useBackends>): void {
  const vector = direction(seeded(3), DIMENSIONS);

  it("SEARCH-1 SEARCH-3 can be created, used for that tenant only, measured and dropped", async function () {
    this.timeout(60_000);
    for (const { db, store: newStore } of backends.all.slice(-1)) {
      const table = newTable();
      const store = await newStore({ table, dimensions: DIMENSIONS });
      await fill(store, db, table, { [HOSTILE]: 900, b: 900 });
      expect(await store.dropTenantIndex(HOSTILE)).to.equal(false);

      const made = await Promise.all([1, 2, 3].map(() => store.ensureTenantIndex(HOSTILE)));
      const [index] = made;
      expect(index).to.include({ valid: true });
      expect(index?.name).to.match(new RegExp(`^${table}_hnsw_[0-9a-f]{16}$`));
      expect(index?.bytes).to.be.above(8192);
      expect(new Set(made.map(({ name }) => name)).size).to.equal(1);
      expect((await store.stats(HOSTILE)).index).to.deep.equal(index);
      expect((await store.stats("b")).index).to.equal(undefined);

      const seen = watched(db);
      const spied = createSearchStore({ db: seen, dimensions: DIMENSIONS, table });
      const hits = await spied.search(HOSTILE, { vector, limit: 10 });
      const others = await spied.search("b", { vector, limit: 10 });
      expect(hits).to.have.length(10);
      expect(hits.every(({ meta }) => meta["owner"] === HOSTILE)).to.equal(true);
      expect(others.every(({ meta }) => meta["owner"] === "b")).to.equal(true);
      const [own, foreign] = await Promise.all(seen.sent.map((sent) => planOf(db, sent)));
      expect(own).to.match(new RegExp(`Index Scan using ${index?.name} on ${table} c\\s+Order By`));
      expect(foreign).not.to.contain("_hnsw_");
      expect(foreign).to.contain("tenant_id = 'b'::text");

      const recall = await store.recall(HOSTILE, { sample: 8 });
      expect(recall.queries).to.equal(8);
      expect(recall.recall).to.be.within(0.9, 1);
      expect(recall.exactMs).to.be.above(0);
      expect(recall.liveMs).to.be.above(0);
      expect((await store.recall("b", { sample: 5 })).recall).to.equal(1);
      expect(await store.recall("nobody")).to.include({ recall: 1, queries: 0 });

      expect(await store.dropTenantIndex(HOSTILE)).to.equal(true);
      expect((await store.stats(HOSTILE)).index).to.equal(undefined);
    }
  });

  it("is approximate with full precision too, but hits are sorted by their exact distance", async function () {
    this.timeout(60_000);
    for (const { db, store: newStore } of backends.all.slice(-1)) {
      const table = newTable();
      const store = await newStore({ table, dimensions: 3, precision: "full" });
      // These embeddings are too close to each other for half precision to order them.
      const near = [7, 1, 5, 3, 8, 2, 6, 4];
      await store.ingest(
        "a",
        "near",
        near.map((n) => ({ content: `${n}`, embedding: [1, 1 + n * 5e-5, 1] })),
      );
      const random = seeded(9);
      const chunks = Array.from({ length: 400 }, (_, n) => ({
        documentId: `far${n}`,
        content: "far",
        embedding: [1, 1.5 + random(), 0.5 + random()],
      }));
      await store.ingestBulk("a", chunks);
      const order = async (): Promise<string[]> =>
        (await store.search("a", { vector: [1, 0, 1], limit: 8 })).map(({ content }) => content);
      expect(await order()).to.deep.equal(["1", "2", "3", "4", "5", "6", "7", "8"]);
      await store.ensureTenantIndex("a");
      const connection = await db.connect();
      await connection.query("set enable_sort = off");
      connection.release();
      expect(await order()).to.deep.equal(["1", "2", "3", "4", "5", "6", "7", "8"]);
      const last = await db.connect();
      await last.query("reset enable_sort");
      last.release();
    }
  });

  it("can be created for all tenants concurrently, even with fewer connections than tenants", async function () {
    this.timeout(60_000);
    for (const { url, db, store: newStore } of backends.all.slice(-1)) {
      const table = newTable();
      const owner = await newStore({ table, dimensions: DIMENSIONS });
      const tenants = ["a", "b", "c", "d", "e"];
      await fill(owner, db, table, Object.fromEntries(tenants.map((tenant) => [tenant, 5])));
      const pool = url === undefined ? undefined : new Pool({ connectionString: url, max: 3 });
      const store = createSearchStore({ db: pool ?? db, table, dimensions: DIMENSIONS });
      // `owner` stands for another process that creates some of the same indexes at the same time.
      const [made, more] = await Promise.all([
        Promise.all(tenants.map((tenant) => store.ensureTenantIndex(tenant))),
        Promise.all(["a", "e"].map((tenant) => owner.ensureTenantIndex(tenant))),
      ]);
      expect(new Set(made.map(({ name }) => name)).size).to.equal(5);
      expect([...made, ...more].every(({ valid }) => valid)).to.equal(true);
      expect(await Promise.all(tenants.map((tenant) => store.dropTenantIndex(tenant)))).not.to.include(false);
      await pool?.end();
    }
  });

  it("is created by maintainIndexes() above one size, dropped below a smaller size, and left unchanged in between", async function () {
    this.timeout(60_000);
    for (const { db, store: newStore } of backends.all.slice(-1)) {
      const table = newTable();
      const events: StoreEvent[] = [];
      const lines: unknown[] = [];
      const line = (fields: object): void => void lines.push(fields);
      const logger = { debug: line, info: line, warn: line, error: line, fatal: line };
      const options = { table, dimensions: DIMENSIONS, indexAbove: 40, indexBelow: 20, logger };
      const onEvent = (event: StoreEvent): void => {
        events.push(event);
        throw new Error("a listener that throws");
      };
      const store = await newStore({ ...options, onEvent });
      await fill(store, db, table, { small: 10, middle: 30, large: 40 });
      expect(await store.largestTenants(2)).to.deep.equal([
        { tenant: "large", chunks: 40 },
        { tenant: "middle", chunks: 30 },
      ]);
      expect((await refusal(() => store.largestTenants(0))).code).to.equal("ERR_SVC_SEARCH_ARGUMENT");
      const name = async (tenant: string): Promise<string | undefined> =>
        (await store.stats(tenant)).index?.name;
      const first = await store.maintainIndexes();
      const large = await name("large");
      expect(first).to.deep.equal({ created: [large], dropped: [], kept: [] });
      expect(events).to.have.length(1);
      expect(events[0]).to.include({ type: "index-created", index: large, chunks: 40 });
      expect(events[0]?.durationMs).to.be.above(0);
      expect(JSON.stringify([events, lines])).not.to.contain('"large"');
      expect(await store.maintainIndexes()).to.deep.equal({ created: [], dropped: [], kept: [large] });

      await remove(store, "large", 15);
      expect(await store.maintainIndexes()).to.deep.equal({ created: [], dropped: [], kept: [large] });
      await remove(store, "large", 10);
      expect(await store.maintainIndexes()).to.deep.equal({ created: [], dropped: [large], kept: [] });
      expect(events.at(-1)).to.include({ type: "index-dropped", index: large });

      // The tenant of the last index no longer has chunks.
      const middle = (await store.ensureTenantIndex("middle")).name;
      await remove(store, "middle", 30);
      expect(await store.maintainIndexes()).to.deep.equal({ created: [], dropped: [middle], kept: [] });
    }
  });

  it("is created and dropped even if an async listener rejects and the logger throws", async function () {
    this.timeout(60_000);
    for (const { store: newStore } of backends.all.slice(-1)) {
      const tried: string[] = [];
      const broken = (_fields: object, message = ""): void => {
        tried.push(message);
        throw new Error("a logger that throws");
      };
      const store = await newStore({
        table: newTable(),
        dimensions: DIMENSIONS,
        logger: { debug: broken, info: broken, warn: broken, error: broken, fatal: broken },
        onEvent: (): void => Promise.reject(new Error("a listener that rejects")) as never,
      });
      const unhandled: unknown[] = [];
      const note = (error: unknown): void => void unhandled.push(error);
      process.on("unhandledRejection", note);
      try {
        expect(await store.ensureTenantIndex("a")).to.include({ valid: true });
        expect(await store.dropTenantIndex("a")).to.equal(true);
        await pause(0);
      } finally {
        process.off("unhandledRejection", note);
      }
      expect(unhandled).to.deep.equal([]);
      const rejected = "a search store event listener threw an error";
      expect(tried).to.deep.equal([
        "created the approximate index of a tenant",
        rejected,
        "dropped the approximate index of a tenant",
        rejected,
      ]);
    }
  });

  it("is rebuilt or dropped by one of several callers if an interrupted build left it invalid", async function () {
    this.timeout(60_000);
    for (const { db, store: newStore } of backends.all.slice(-1)) {
      const table = newTable();
      const events: StoreEvent[] = [];
      const options = {
        table,
        dimensions: DIMENSIONS,
        indexAbove: 20,
        indexBelow: 10,
        onEvent: (event: StoreEvent) => void events.push(event),
      };
      const store = await newStore(options);
      await fill(store, db, table, { a: 25, b: 15 });
      const index = await store.ensureTenantIndex("a");
      const spare = await store.ensureTenantIndex("b");
      await query(
        db,
        `update pg_index set indisvalid = false where indexrelid in ('${index.name}'::regclass, '${spare.name}'::regclass)`,
      );
      expect((await store.stats("a")).index).to.include({ name: index.name, valid: false });
      events.length = 0;
      const done = await Promise.all([store.maintainIndexes(), store.maintainIndexes()]);
      expect(done.flatMap(({ created }) => created)).to.deep.equal([index.name]);
      expect(done.flatMap(({ dropped }) => dropped)).to.deep.equal([spare.name]);
      expect(events.map(({ type }) => type).toSorted()).to.deep.equal(["index-created", "index-dropped"]);
      expect((await store.stats("a")).index).to.include({ name: index.name, valid: true });
    }
  });

  it("is not rebuilt if it looks invalid just before the server marks it as valid", async function () {
    this.timeout(60_000);
    for (const { db, store: newStore } of backends.all.slice(-1)) {
      const table = newTable();
      const owner = await newStore({ table, dimensions: DIMENSIONS });
      await fill(owner, db, table, { a: 25 });
      const index = await owner.ensureTenantIndex("a");
      const events: StoreEvent[] = [];
      const log: string[] = [];
      // Simulate a build in another session: the first two queries see a running build, the third sees an index that is
      // not valid yet.
      const change = (text: string): string => {
        if (text !== SELECT_INDEXES) return text;
        log.push("query");
        const count = log.filter((entry) => entry === "query").length;
        if (count > 3) return text;
        const unready = text.replace("index.indisvalid as", "false as");
        return count > 2 ? unready : unready.replace(/exists \([^)]*\) as building/, "true as building");
      };
      const store = createSearchStore({
        db: watched(db, { change }),
        table,
        dimensions: DIMENSIONS,
        onEvent: (event) => void events.push(event),
      });
      using _ = skipPauses((ms) => void log.push(`pause of ${ms} ms`));
      expect(await store.ensureTenantIndex("a")).to.deep.equal(index);
      expect(log.filter((entry) => entry === "query")).to.have.length(4);
      expect(log.slice(-3)).to.deep.equal(["query", "pause of 1000 ms", "query"]);
      expect(events).to.deep.equal([]);
    }
  });

  it("is not built again while the server continues a build whose process has ended", async function () {
    this.timeout(60_000);
    for (const { name, db, store: newStore } of backends.all.slice(-1)) {
      const table = newTable();
      const events: StoreEvent[] = [];
      const store = await newStore({
        table,
        dimensions: DIMENSIONS,
        onEvent: (event) => void events.push(event),
      });
      await fill(store, db, table, { a: 25 });
      const index = await store.ensureTenantIndex("a");
      // The embedded database has one connection, so only the result for an existing index is checked there.
      if (name === "server") {
        await store.dropTenantIndex("a");
        events.length = 0;
        const [writer, builder] = await Promise.all([db.connect(), db.connect()]);
        await writer.query("begin");
        await writer.query(
          `update ${table} set meta = '{}' where ordinal < 0; lock table ${table} in row exclusive mode`,
        );
        const built = builder.query(
          `create index concurrently ${index.name} on ${table} using hnsw (embedding halfvec_cosine_ops) where tenant_id = 'a'`,
        );
        while ((await store.stats("a")).index === undefined) await pause(10);
        const ensured = store.ensureTenantIndex("a");
        await pause(50);
        expect((await store.stats("a")).index).to.include({ valid: false });
        const { detail, meta } = await store.readiness().check(AbortSignal.timeout(5000));
        expect(detail).to.match(/^pgvector .* on the server, 1 index\(es\) being built$/);
        expect(meta).to.include({ building: 1 });
        await writer.query("rollback");
        await built;
        writer.release();
        builder.release();
        expect(await ensured).to.include({ name: index.name, valid: true });
        expect(events).to.deep.equal([]);
      }
      expect(await store.ensureTenantIndex("a")).to.include({ name: index.name, valid: true });
    }
  });

  it("is reported as failed if it cannot be created, and is not maintained if row security hides the tenants", async function () {
    this.timeout(60_000);
    for (const { db, store: newStore } of backends.all.slice(-1)) {
      const table = newTable();
      const owner = await newStore({ table, dimensions: DIMENSIONS });
      await fill(owner, db, table, { a: 25 });
      const role = `nobody_${table}`;
      await query(db, `create role ${role}`);
      await query(db, `grant select on ${table} to ${role}`);
      try {
        const events: StoreEvent[] = [];
        const store = createSearchStore({
          db: watched(db, { role }),
          table,
          dimensions: DIMENSIONS,
          indexAbove: 20,
          indexBelow: 10,
          onEvent: (event) => void events.push(event),
        });
        const error = await refusal(() => store.maintainIndexes());
        expect(error.code).to.equal("ERR_SVC_SEARCH_INDEX");
        expect(error.message).to.equal("1 indexes failed; 0 created, 0 dropped, 0 kept");
        expect((await refusal(() => store.ensureTenantIndex("a"))).code).to.equal("ERR_SVC_SEARCH_INDEX");
        expect(events[0]).to.include({ type: "index-failed", chunks: 25, error: "SQLSTATE 42501" });
        expect((await owner.stats("a")).index).to.equal(undefined);
        // A login for which row security hides the tenants would count no chunks, and drop every index.
        await query(db, `alter table ${table} enable row level security`);
        for (const call of [() => store.maintainIndexes(), () => store.largestTenants(3)]) {
          expect((await refusal(call)).message).to.match(/^row security hides the tenants/);
        }
      } finally {
        await query(db, `drop owned by ${role}`);
        await query(db, `drop role ${role}`);
      }
    }
  });
}

async function fill(
  store: SearchStore,
  db: Connectable,
  table: string,
  tenants: Readonly<Record<string, number>>,
): Promise<void> {
  const random = seeded(31);
  for (const [tenant, count] of Object.entries(tenants)) {
    const chunks = Array.from({ length: count }, (_, n) => ({
      documentId: `d${n}`,
      content: `word ${n}`,
      meta: { owner: tenant },
      embedding: direction(random, DIMENSIONS),
    }));
    await store.ingestBulk(tenant, chunks);
  }
  await query(db, `analyze ${table}`);
}

/** Deletes the first `count` documents of a tenant. */
async function remove(store: SearchStore, tenant: string, count: number): Promise<void> {
  const { chunks } = await store.list(tenant, { limit: count });
  for (const { documentId } of chunks) await store.deleteDocument(tenant, documentId);
}

async function query(db: Connectable, text: string): Promise<void> {
  const connection = await db.connect();
  try {
    await connection.query(text);
  } finally {
    connection.release();
  }
}
