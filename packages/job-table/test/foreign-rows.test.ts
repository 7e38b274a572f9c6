import { testDatabase } from "@svc/dev-services";
import { createJobTable } from "@svc/job-table";
import { expect } from "chai";
import { openBench, openPool } from "./support/bench.ts";
import { work } from "./support/working.ts";

const TRACEPARENT = `00-${"a".repeat(32)}-${"b".repeat(16)}-01`;

describe("rows written by other programs", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-foreign" });

  it("JOB-5 JOB-28 are claimed from a manually created table with bigint or smallint counts and a json trace", async () => {
    const pool = openPool(database.url);
    await pool.query(`create table counted (id varchar(64) primary key, task varchar not null, payload jsonb,
      attempts bigint default 0, max_attempts smallint default 3, available_at timestamptz, locked_until timestamptz,
      request_id text, tenant_id text, status varchar(10), last_error text, created_at timestamptz, trace json)`);
    const table = createJobTable({ db: pool, name: "counted" });
    expect(await table.ensureSchema()).to.equal("created");
    await table.enqueueMany(
      ["1", "2", "3"].map((id) => ({ id, task: "a", trace: { traceparent: TRACEPARENT } })),
    );
    const jobs = await table.claim(3);
    expect(jobs.map(({ attempts, maxAttempts }) => [attempts, maxAttempts])).to.deep.equal(
      Array(3).fill([1, 3]),
    );
    expect(jobs[0]?.trace).to.deep.equal({ traceparent: TRACEPARENT });
    const [one, two, three] = jobs;
    if (one === undefined || two === undefined || three === undefined) throw new Error("three were claimed");
    expect(await table.ack(one)).to.equal(true);
    expect(await table.release(two)).to.equal(true);
    expect(await table.fail(three, "no", { dead: true })).to.equal("dead");
    expect((await table.dead())[0]).to.include({ attempts: 1, maxAttempts: 3 });
    await pool.end();
  });

  it("JOB-4 do not block other rows if they have unusual times or counts", async () => {
    await using bench = await openBench(database.url);
    const { name } = bench.table;
    await bench.pool.query(`insert into ${name} (id, task, available_at, attempts, max_attempts) values
      ('always', 'a', '-infinity', 0, 3), ('never', 'a', 'infinity', 0, 3), ('counted out', 'a', now(), 2147483647, 3),
      ('owing', 'a', now(), -5, 3), ('none', 'a', now(), 0, 0)`);
    await bench.table.enqueue({ id: "usual", task: "a" });
    await using working = work(bench, { handlers: { a: () => undefined } });
    await working.reported("done", 5);
    expect((await bench.rows()).map(({ id }) => id)).to.deep.equal(["never"]);
    expect(working.ids("fault")).to.deep.equal([]);
  });

  it("JOB-18 are claimed without their trace if it is invalid; enqueue() accepts a trace whose tracestate is null", async () => {
    await using bench = await openBench(database.url);
    const { name } = bench.table;
    await bench.pool.query(
      `insert into ${name} (id, task, trace) values ('null state', 'a', $1), ('no carrier', 'a', '"x"'), ('odd', 'a', '{}')`,
      [{ traceparent: TRACEPARENT, tracestate: null }],
    );
    const jobs = await bench.table.claim(3);
    const traces = new Map(jobs.map(({ id, trace }) => [id, trace]));
    expect(traces.get("null state")).to.deep.equal({ traceparent: TRACEPARENT });
    expect([traces.get("no carrier"), traces.get("odd")]).to.deep.equal([undefined, undefined]);
    // A carrier as read from the column, with null as `tracestate`.
    const trace = JSON.parse(JSON.stringify({ traceparent: TRACEPARENT, tracestate: null })) as {
      traceparent: string;
    };
    await bench.table.enqueue({ id: "again", task: "a", trace });
    const row = (await bench.rows()).find(({ id }) => id === "again");
    expect(row?.trace).to.deep.equal({ traceparent: TRACEPARENT });
  });
});
