import { once } from "node:events";
import { createCache } from "@svc/cache";
import { createDatabase } from "@svc/database";
import { testDatabase, testRedis } from "@svc/dev-services";
import { expect } from "chai";
import { Redis } from "ioredis";
import pg from "pg";
import request from "supertest";
import { createService, type OwnCache, type OwnDatabase, type ServiceOptions } from "@svc/express";
import { refusalOf } from "./support/refusal-of.ts";
import { startService, type TestService } from "./support/test-service.ts";

interface Report {
  readonly status: string;
  readonly checks: Readonly<Record<string, { readonly healthy: boolean; readonly critical: boolean }>>;
}

async function readinessOf(test: TestService): Promise<Report["checks"]> {
  return ((await request(test.url).get("/ready")).body as Report).checks;
}

const silent = { logDestination: { write: () => undefined } };

describe("createService({ database })", function () {
  this.timeout(60_000);
  const server = testDatabase({ name: "express-own-connections" });
  const toml = (more = ""): string =>
    `[plugins]\nenabled = ["observability", "metrics", "database"]\n[plugin.database]\n${more}`;

  /** Starts a service with the database, sends a query through it, and stops it. */
  async function use(database: OwnDatabase, more?: string): Promise<void> {
    await using test = await startService({
      toml: toml(more),
      database,
      routes: (app, { db }) => {
        app.get("/one", async (_req, res) => void res.json((await db?.query("select 1 as one"))?.rows));
      },
    });
    expect((await request(test.url).get("/one")).body).to.deep.equal([{ one: 1 }]);
    expect((await readinessOf(test))["database"]).to.include({ healthy: true, critical: true });
    expect(await test.service.stop()).to.equal(0);
  }

  it("RDY-13 uses a pg pool, reports it in /ready as critical, and leaves it open", async () => {
    const pool = new pg.Pool({ connectionString: server.url, max: 2 });
    await use(pool);
    expect((await pool.query("select 2 as two")).rows).to.deep.equal([{ two: 2 }]);
    await use({ pool }, "statement_timeout = 3");
    expect(pool.ended).to.equal(false);
    await pool.end();
  });

  it("closes a pool with closePool: true when the service stops", async () => {
    const pool = new pg.Pool({ connectionString: server.url, max: 2 });
    await use({ pool, closePool: true });
    expect(pool.ended).to.equal(true);
  });

  it("uses a database from createDatabase() as service.db, and leaves it open", async () => {
    await using database = createDatabase({ url: server.url });
    await use(database);
    expect((await database.query("select 2 as two")).rows).to.deep.equal([{ two: 2 }]);
  });

  it("applies the limits of the file to a pool", async () => {
    const pool = new pg.Pool({ connectionString: server.url, max: 1 });
    try {
      await using test = await startService({
        toml: toml("acquire_timeout = 0.1"),
        database: pool,
        routes: (app, { db }) => {
          app.get("/one", async (_req, res) => void res.json(await db?.query("select 1")));
        },
      });
      const taken = await pool.connect();
      expect((await request(test.url).get("/one")).status).to.equal(503);
      taken.release();
      expect((await request(test.url).get("/one")).status).to.equal(200);
    } finally {
      await pool.end();
    }
  });

  it("JOB-1 runs jobs through a pool, which stays open", async () => {
    const pool = new pg.Pool({ connectionString: server.url, max: 3 });
    try {
      const { promise: done, resolve } = Promise.withResolvers<unknown>();
      await using test = await startService({
        toml: '[plugins]\nenabled = ["observability", "database", "queue"]',
        database: pool,
        jobs: { "orders.send": (payload) => resolve(payload) },
      });
      await test.service.jobs?.enqueue({ task: "orders.send", payload: { order: 7 } });
      expect(await done).to.deep.equal({ order: 7 });
      expect(await test.service.stop()).to.equal(0);
      expect((await pool.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
    } finally {
      await pool.end();
    }
  });

  it("rejects a pool or a database that has ended, and values that are neither", async () => {
    const pool = new pg.Pool({ connectionString: server.url });
    await pool.end();
    const database = createDatabase({ url: server.url });
    await database.stop();
    const open = new pg.Pool({ connectionString: server.url });
    const ofOpen = createDatabase({ pool: open });
    await ofOpen.stop();
    const faults: readonly (readonly [given: unknown, fault: string])[] = [
      [pool, "database: has ended; pass a pool that is open"],
      [{ pool }, "database.pool: has ended; pass a pool that is open"],
      [database, "database: has been stopped; pass one that is open"],
      [ofOpen, "database: has been stopped; pass one that is open"],
      [{ pool, close: true }, "database.close: is unknown; did you mean closePool?"],
      [{ pool, closePool: "yes" }, "database.closePool: must be true or false"],
      [{ pool: 5 }, "database.pool: must be a pg pool"],
      [{}, "database: must be a pg pool (an object with connect(), on(), removeListener(),"],
      [server.url, "database: must be a database from createDatabase(), a pg pool, or { pool, closePool }"],
    ];
    for (const [given, fault] of faults) {
      const message = await refusalOf({ ...silent, database: given as OwnDatabase }, toml());
      expect(message).to.contain(fault).and.to.not.contain("postgres://");
    }
    await open.end();
  });

  it("rejects connection settings in the file, and the option without the plugin database", async () => {
    const pool = new pg.Pool({ connectionString: server.url });
    const url = `url = "${server.url}"`;
    expect(await refusalOf({ ...silent, database: pool }, toml(`${url}\nmax = 3`)))
      .to.contain("plugin.database.url: cannot be combined with database, whose own settings apply")
      .and.to.contain("plugin.database.max: cannot be combined with database, whose own settings apply");
    expect(await refusalOf({ ...silent, database: { pool } }, toml(url))).to.contain(
      "plugin.database.url: cannot be combined with database.pool, whose own settings apply",
    );
    await using database = createDatabase({ url: server.url });
    expect(await refusalOf({ ...silent, database }, toml("critical = false"))).to.contain(
      "plugin.database.critical: cannot be combined with database in createService(), whose own settings apply",
    );
    expect(await refusalOf({ ...silent, database })).to.contain(
      "database: has no effect without the plugin database; enable the plugin, or remove database",
    );
    await pool.end();
  });

  it("CFG-12 lists an invalid database together with the faults of the file, but not a missing url", async () => {
    for (const given of [{ database: server.url }, { database: 5, cache: true }] as object[]) {
      const message = await refusalOf({ ...silent, ...given }, `nope = 1\n${toml('acquire_timeout = "x"')}`);
      expect(message)
        .to.contain("database: must be a database from createDatabase()")
        .and.to.contain("service.nope: is unknown")
        .and.to.contain("plugin.database.acquire_timeout")
        .and.to.not.contain("plugin.database.url");
    }
  });

  it("closes a pool with closePool: true if createService() rejects, also for a fault of the file", async () => {
    const failing = (): never => expect.fail("no routes");
    for (const [more, options] of [
      ["statement_timeout = 3", { routes: failing }],
      ["nope = 1", {}],
      ["", { rolle: "worker" }],
    ] as const) {
      for (const closePool of [true, false]) {
        const pool = new pg.Pool({ connectionString: server.url });
        const config = { toml: `[service]\nname = "orders"\n${toml(more)}` };
        const made = createService({ ...silent, config, env: {}, database: { pool, closePool }, ...options });
        const error = await made.then(
          () => expect.fail("nothing was refused"),
          (reason: unknown) => reason,
        );
        expect(error).to.be.an("error");
        expect(pool.ended, `${more} ${closePool}`).to.equal(closePool);
        if (!closePool) await pool.end();
      }
    }
  });

  it("CFG-12 lists an invalid option together with the faults of the file, but not a missing url", async () => {
    const pool = new pg.Pool({ connectionString: server.url });
    const options = { ...silent, database: pool, rolle: "worker" } as ServiceOptions;
    expect(await refusalOf(options, toml('acquire_timeout = "x"')))
      .to.contain("rolle: is unknown")
      .and.to.contain("plugin.database.acquire_timeout")
      .and.to.not.contain("plugin.database.url");
    await pool.end();
  });
});

describe("createService({ cache })", function () {
  this.timeout(60_000);
  const redis = testRedis();
  const toml = (more = ""): string =>
    `[plugins]\nenabled = ["observability", "metrics", "cache"]\n[plugin.cache]\n${more}`;

  /** Starts a service with the cache, stores a value through it, and stops it. */
  async function use(cache: OwnCache, more?: string): Promise<void> {
    await using test = await startService({ toml: toml(more), cache });
    await test.service.cache?.set("own", { a: 1 }, 60);
    expect(await test.service.cache?.get("own")).to.deep.equal({ a: 1 });
    expect((await readinessOf(test))["cache"]).to.include({ healthy: true, critical: false });
    expect(await test.service.stop()).to.equal(0);
  }

  it("RDY-16 uses an ioredis client with the settings of the file, and leaves it open", async () => {
    const client = new Redis(redis.url);
    await use(client, 'key_prefix = "orders:"');
    expect(await client.get("orders:own")).to.equal('{"a":1}');
    expect(client.status).to.equal("ready");
    client.disconnect();
  });

  it("closes a client with closeClient: true when the service stops", async () => {
    const client = new Redis(redis.url);
    const ended = once(client, "end");
    await use({ client, closeClient: true });
    await ended;
    expect(client.status).to.equal("end");
  });

  it("uses a cache from createCache() as service.cache, and leaves it open", async () => {
    await using cache = createCache({ url: redis.url, keyPrefix: "mine:" });
    await use(cache);
    expect(await cache.get("own")).to.deep.equal({ a: 1 });
  });

  it("rejects a client that lacks a method or has ended, and values that are neither a client nor a cache", async () => {
    const client = new Redis(redis.url, { lazyConnect: true });
    client.disconnect();
    const cache = createCache({ url: redis.url });
    await cache.stop();
    const other = new Redis(redis.url, { lazyConnect: true });
    const ofOpen = createCache({ client: other });
    await ofOpen.stop();
    const [call, on, off, disconnect] = Array.from({ length: 4 }, () => () => undefined);
    const faults: readonly (readonly [given: unknown, fault: string])[] = [
      [
        { status: "ready", call, on, off, disconnect },
        "cache: must be an ioredis client (an object with call(),",
      ],
      [{ client: { call } }, "cache.client: must be an ioredis client (an object with call(),"],
      [client, "cache: has ended; pass a client that is open"],
      [cache, "cache: has been stopped; pass one that is open"],
      [ofOpen, "cache: has been stopped; pass one that is open"],
      [{ client }, "cache.client: has ended; pass a client that is open"],
      [{ client, close: true }, "cache.close: is unknown; did you mean closeClient?"],
      [redis.url, "cache: must be a cache from createCache(), an ioredis client, or { client, closeClient }"],
    ];
    for (const [given, fault] of faults) {
      expect(await refusalOf({ ...silent, cache: given as OwnCache }, toml())).to.contain(fault);
    }
    other.disconnect();
  });

  it("closes a client with closeClient: true if createService() rejects, also for a fault of the file", async () => {
    for (const more of ["", "nope = 1"]) {
      for (const closeClient of [true, false]) {
        const client = new Redis(redis.url, { lazyConnect: true });
        const given = { cache: { client, closeClient }, rolle: "worker" } as ServiceOptions;
        await refusalOf({ ...silent, ...given }, toml(more));
        expect(client.status).to.equal(closeClient ? "end" : "wait");
        client.disconnect();
      }
    }
  });

  it("rejects connection settings in the file", async () => {
    const url = `url = "${redis.url}"`;
    const client = new Redis(redis.url, { lazyConnect: true });
    expect(await refusalOf({ ...silent, cache: client }, toml(url))).to.contain(
      "plugin.cache.url: cannot be combined with cache in createService(), whose own settings apply",
    );
    await using cache = createCache({ url: redis.url });
    expect(await refusalOf({ ...silent, cache }, toml('key_prefix = "a"'))).to.contain(
      "plugin.cache.key_prefix: cannot be combined with cache in createService(), whose own settings apply",
    );
    client.disconnect();
  });
});
