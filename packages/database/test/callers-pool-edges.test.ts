import { createDatabase } from "@svc/database";
import { testPostgresServer } from "@svc/dev-services";
import { collectingLogger, rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { Client, Pool, type PoolConfig } from "pg";
// @ts-expect-error -- the package has no types
import UntypedCursor from "pg-cursor";
import { ask, callersPools } from "./support/callers-pools.ts";
import { PATIENT } from "./support/patient.ts";
import { problem } from "./support/problem.ts";

const EVENTS = ["connect", "acquire", "release", "remove", "error"] as const;

interface Cursor {
  read(count: number): Promise<unknown[]>;
  close(): Promise<void>;
}
const Cursor = UntypedCursor as new (text: string) => Cursor;

describe("createDatabase({ pool }) in edge cases", function () {
  this.timeout(60_000);
  const { postgres, poolOf, guarded } = callersPools("edges");

  describe("listeners", () => {
    it("are removed from the caller's connection when it is first returned, or by stop() while it is in use", async () => {
      const plain = await poolOf().connect();
      const usual = plain.listenerCount("error");
      plain.release();
      const pool = poolOf();
      const database = guarded(pool);
      const [kept, returned] = [await pool.connect(), await pool.connect()];
      returned.release();
      const again = await pool.connect();
      expect(again).to.equal(returned);
      expect(again.listenerCount("error")).to.equal(usual);
      await database.stop();
      expect(kept.listenerCount("error")).to.equal(usual);
      kept.release();
      again.release();
    });

    it("are removed from a connection that is returned during stop()", async () => {
      const pool = poolOf({ max: 1 });
      const database = guarded(pool);
      const client = await pool.connect();
      const usual = client.listenerCount("end");
      client.release();
      const lent = await database.connect();
      const stopping = database.stop();
      lent.release();
      await stopping;
      const after = await pool.connect();
      expect(after).to.equal(client);
      expect(after.listenerCount("end")).to.equal(usual);
      after.release();
    });

    it("are removed from the pool when a connection that was cut at stopTimeoutMs is returned", async () => {
      const pool = poolOf();
      const count = (): number[] => EVENTS.map((event) => pool.listenerCount(event));
      const before = count();
      const database = guarded(pool, { stopTimeoutMs: 20 });
      const lent = await database.connect();
      const running = problem(lent.query("select pg_sleep(60)"));
      await database.stop();
      await running;
      lent.release();
      await until("the listeners are gone", () => String(count()) === String(before));
      expect((await pool.query("select 1 as one")).rows).to.deep.equal([{ one: 1 }]);
    });
  });

  describe("a statement", () => {
    it("that pg refuses to send does not cause a cancel request for a later one", async () => {
      const pool = poolOf({ max: 1 });
      await using database = guarded(pool, { statementTimeoutMs: 100 });
      await until("it is refused", async () => {
        const error = await rejection(database.query(undefined as never));
        return /null or undefined/.test(error.message);
      });
      expect((await pool.query("select pg_sleep(0.5), 1 as one")).rows).to.have.lengthOf(1);
    });

    it("may be a cursor, as with createDatabase({ url })", async () => {
      const pool = poolOf({ max: 1 });
      await using theirs = guarded(pool);
      await using own = createDatabase({ url: postgres.url, ...PATIENT });
      for (const database of [theirs, own]) {
        const lent = await database.connect();
        const cursor = new Cursor("select 1 as one");
        expect(await lent.query(cursor as never)).to.equal(cursor);
        expect(await cursor.read(1)).to.deep.equal([{ one: 1 }]);
        await cursor.close();
        lent.release();
      }
    });
  });

  it("is not ready, and returns 503 without opening the breaker, when the caller has ended the pool", async () => {
    const logger = collectingLogger();
    const pool = poolOf();
    await using database = guarded(pool, { logger, breakerFailures: 1 });
    await database.query("select 1");
    expect(await ask(database)).to.include({ healthy: true });
    await pool.end();
    for (const _each of [1, 2, 3]) {
      const { code, cause } = await problem(database.query("select 1"));
      expect(code).to.equal("ERR_SVC_DATABASE_UNAVAILABLE");
      expect((cause as Error).message).to.equal("the pool has ended");
    }
    expect(await ask(database)).to.include({ healthy: false, detail: "the pool has ended" });
    expect(logger.texts).to.deep.equal([]);
  });

  it("does not open the breaker for a request that waits while the caller ends the pool", async () => {
    const logger = collectingLogger();
    const pool = poolOf({ max: 1 });
    await using database = guarded(pool, { logger, acquireTimeoutMs: 100, breakerFailures: 1 });
    const theirs = await pool.connect();
    const waiting = problem(database.query("select 1"));
    const ending = pool.end();
    expect(((await waiting).cause as Error).message).to.equal("the pool has ended");
    theirs.release();
    await ending;
    expect(logger.texts).to.deep.equal([]);
  });

  it("reports a role that bypasses row security even if the pool's type parsers change all values", async () => {
    const types = { getTypeParser: () => () => "parsed" } as unknown as NonNullable<PoolConfig["types"]>;
    await using database = guarded(poolOf({ types }), { rowSecurity: true });
    expect(await ask(database)).to.deep.include({
      detail: "connected; the database role bypasses row security",
    });
  });

  it("opens the connection of the readiness check with the pool's own client class", async () => {
    let made = 0;
    class OwnClient extends Client {
      constructor(config: PoolConfig) {
        // A custom client class may compute where to connect.
        super({ ...config, host: new URL(postgres.url).hostname, port: Number(new URL(postgres.url).port) });
        made += 1;
      }
    }
    const { username, pathname } = new URL(postgres.url);
    const config = { host: "127.0.0.1", port: 1, user: username, database: pathname.slice(1) };
    const own = { ...config, connectionString: undefined, Client: OwnClient };
    const pool = poolOf(own as unknown as PoolConfig);
    await using database = guarded(pool);
    await database.query("select 1");
    expect(await ask(database)).to.include({ healthy: true, detail: "connected" });
    expect(made).to.equal(2);
  });

  it("returns 503 if every new connection is in a transaction already", async () => {
    let opened = 0;
    const onConnect = async (client: Client): Promise<void> => {
      opened += 1;
      await client.query("begin");
    };
    await using database = guarded(poolOf({ max: 2, onConnect } as unknown as PoolConfig));
    const { code, cause } = await problem(database.query("select 1"));
    expect(code).to.equal("ERR_SVC_DATABASE_UNAVAILABLE");
    expect((cause as Error).message).to.contain("in a transaction");
    expect(opened).to.be.within(2, 4);
  });

  it("limits the number of timed-out requests in the pool's queue", async () => {
    const pool = poolOf({ max: 1 });
    await using database = guarded(pool, { acquireTimeoutMs: 5 });
    const theirs = await pool.connect();
    for (let each = 0; each < 12; each++) {
      const all = Array.from({ length: 200 }, () => problem(database.query("select 1")));
      const codes = new Set((await Promise.all(all)).map(({ code }) => code));
      expect(codes).to.deep.equal(new Set(["ERR_SVC_DATABASE_POOL_EXHAUSTED"]));
    }
    expect(pool.waitingCount).to.be.at.most(1200);
    theirs.release();
    await until("it lends a connection", () => database.query("select 1").catch(() => undefined));
    expect(pool.waitingCount).to.equal(0);
  });
});

describe("createDatabase({ pool }) while the pool opens its first connection", function () {
  this.timeout(60_000);
  const postgres = testPostgresServer();

  it("reports a later hang of the server as an unavailable database, not as an exhausted pool", async () => {
    const pool = new Pool({ connectionString: postgres.url, max: 1 });
    const opening = pool.connect();
    await using database = createDatabase({ pool, acquireTimeoutMs: 300, closePool: true });
    (await opening).release();
    const lent = await until("it lends the connection", () => database.connect().catch(() => undefined));
    lent.release(true);
    await until("the connection is closed", () => pool.totalCount === 0);
    postgres.server.pause();
    try {
      expect((await problem(database.query("select 1"))).code).to.equal("ERR_SVC_DATABASE_UNAVAILABLE");
    } finally {
      postgres.server.resume();
    }
    await until("it answers again", () => database.query("select 1").catch(() => undefined));
  });
});
