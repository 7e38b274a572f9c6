import { testDatabase } from "@svc/dev-services";
import { createJobTable, type JobTableOptions } from "@svc/job-table";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import { type Bench, openBench, openPool } from "./support/bench.ts";

async function bury({ table }: Bench, ...ids: string[]): Promise<void> {
  for (const id of ids) {
    await table.enqueue({ id, task: "a", payload: { id }, tenantId: "acme", availableAt: new Date(1e12) });
    const [job] = await table.claim();
    if (job !== undefined) await table.fail(job, `${id} broke`, { dead: true });
  }
}

const signal = new AbortController().signal;

describe("the operator functions of a job table", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-operator" });

  it("JOB-31 dead() returns dead jobs with their errors, most recently queued first", async () => {
    await using bench = await openBench(database.url);
    await bury(bench, "a", "b", "c");
    await bench.table.enqueue({ task: "alive" });
    const dead = await bench.table.dead(2);
    expect(dead.map(({ id }) => id)).to.deep.equal(["c", "b"]);
    expect(dead[0]).to.deep.include({
      task: "a",
      payload: { id: "c" },
      attempts: 1,
      maxAttempts: 3,
      tenantId: "acme",
      requestId: undefined,
      trace: undefined,
      lastError: "c broke",
    });
    expect(dead[0]?.createdAt).to.be.an.instanceOf(Date);
  });

  it("JOB-12 JOB-31 retryDead() resets the given dead jobs, or all dead jobs, to pending with 0 attempts", async () => {
    await using bench = await openBench(database.url);
    await bury(bench, "a", "b", "c");
    await bench.table.enqueue({ id: "alive", task: "x" });
    expect(await bench.table.retryDead(["b", "alive", "nobody"])).to.deep.equal(["b"]);
    expect((await bench.rows()).find(({ id }) => id === "b")).to.include({ status: "pending", attempts: 0 });
    expect(await bench.table.stats()).to.deep.equal({ pending: 2, running: 0, dead: 2 });
    expect((await bench.table.retryDead("all")).toSorted()).to.deep.equal(["a", "c"]);
    expect(await bench.table.retryDead("all")).to.deep.equal([]);
    expect(await bench.table.claim(10)).to.have.lengthOf(4);
    expect(await bench.table.stats()).to.deep.equal({ pending: 0, running: 4, dead: 0 });
  });

  it("dead() and retryDead() reject invalid limits and ids", async () => {
    const table = createJobTable({ db: { query: () => Promise.reject(new Error("sent")) } });
    expect(await rejection(table.dead(0))).to.include({ code: "ERR_SVC_JOB_ARGUMENT" });
    for (const ids of ["some", [1], ["a\0"], undefined]) {
      const error = await rejection(table.retryDead(ids as string[]));
      expect(error).to.include({ code: "ERR_SVC_JOB_ARGUMENT" });
    }
  });

  it("the check `queue` is healthy without dead jobs, and degraded but not critical with dead jobs", async () => {
    let now = 0;
    await using bench = await openBench(database.url, { now: () => now });
    const check = bench.table.readiness();
    expect(check).to.equal(bench.table.readiness());
    expect(check).to.include({ name: "queue", critical: true });
    expect(await check.check(signal)).to.deep.equal({
      healthy: true,
      detail: "connected",
      meta: { dead: 0 },
    });
    await bury(bench, "a", "b");
    now += 1;
    expect(await check.check(signal)).to.deep.equal({
      healthy: false,
      critical: false,
      detail: "2 job(s) in the dead-letter queue",
      meta: { dead: 2 },
    });
    await bench.table.retryDead("all");
    now += 1;
    expect(await check.check(signal)).to.include({ healthy: true });
  });

  it("the check `queue` is critical when the table cannot be reached, and shows the reason without a secret", async () => {
    const pool = openPool(database.url);
    const missing = createJobTable({ db: pool, name: "nowhere" });
    expect(await missing.readiness().check(signal)).to.deep.equal({
      healthy: false,
      detail: "its table is missing",
    });
    await pool.query("create table half (id text primary key)");
    const half = createJobTable({ db: pool, name: "half" });
    expect(await half.readiness().check(signal)).to.deep.equal({
      healthy: false,
      detail: "its table lacks a column",
    });
    await pool.end();
    const gone = openPool("postgres://ann:secret@127.0.0.1:9/none");
    const { healthy, detail, critical } = await createJobTable({ db: gone }).readiness().check(signal);
    expect({ healthy, critical }).to.deep.equal({ healthy: false, critical: undefined });
    expect(detail).to.equal("not answering (ECONNREFUSED)");
    await gone.end();
  });

  const wrong: readonly (readonly [object, string])[] = [
    [{}, "db: is required and must be a pool or a connection"],
    [{ db: {} }, "db: must be a pool or a connection"],
    [{ name: "" }, "name: must be a non-empty string"],
    [{ name: "a.b.c" }, "name: must be a name of at most 48 bytes, or schema.name"],
    [{ name: "x".repeat(49) }, "name: must be a name of at most 48 bytes"],
    [{ visibilityTimeoutSeconds: 0 }, "visibilityTimeoutSeconds: must be a number from 1 to 86400; it is 0"],
    [{ maxPayloadBytes: 1 }, "maxPayloadBytes: must be a whole number from 2"],
    [{ notify: "yes" }, "notify: must be true or false"],
    [{ notifyEveryMs: -1 }, "notifyEveryMs: must be a whole number from 0"],
    [{ visibilityTimeout: 1 }, "visibilityTimeout: is unknown"],
  ];
  for (const [options, message] of wrong) {
    it(`createJobTable() rejects ${JSON.stringify(options).slice(0, 60)}`, async () => {
      const db = { query: () => Promise.resolve({ rows: [] }) };
      const given = message.startsWith("db") ? options : { db, ...options };
      const error = await rejection(() => createJobTable(given as JobTableOptions));
      expect(error).to.include({ code: "ERR_SVC_CONFIGURATION" });
      expect(error.message).to.include(message);
    });
  }
});
