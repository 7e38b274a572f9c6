import { testDatabase } from "@svc/dev-services";
import { expect } from "chai";
import { type Bench, openBench } from "./support/bench.ts";
import { work } from "./support/working.ts";

const refusal = (path: string): string =>
  `JobError: ${path} is an integer outside the safe range (-(2^53-1)..2^53-1); send it as a string`;

/** Queues jobs as a program in another language does, with the payload as literal text. */
async function insert({ pool, table }: Bench, payloads: Readonly<Record<string, string>>): Promise<void> {
  for (const [id, payload] of Object.entries(payloads)) {
    await pool.query(`insert into ${table.name} (id, task, payload) values ($1, 'a', $2::jsonb)`, [
      id,
      payload,
    ]);
  }
}

describe("jobs with large numbers in their payloads", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-payload" });

  const foreign = {
    id: '{"order":{"id":9007199254740993}}',
    first: "[1,-12345678901234567890]",
    fine: '{"id":"12345678901234567890","n":9007199254740991,"f":0.1234567890123456789}',
    even: '{"n":9007199254740992}',
  };

  it("are marked as dead immediately, with their payload unchanged, when JavaScript would round an integer (JOB-33)", async () => {
    await using bench = await openBench(database.url);
    await insert(bench, foreign);
    const seen = new Map<string, unknown>();
    await using working = work(bench, { handlers: { a: (payload, { id }) => void seen.set(id, payload) } });
    await working.reported("dead", 2);
    await working.reported("done", 2);
    expect(Object.fromEntries(seen)).to.deep.equal({
      fine: { id: "12345678901234567890", n: 9007199254740991, f: 0.12345678901234568 },
      even: { n: 9007199254740992 },
    });
    const rows = await bench.pool.query<Record<string, unknown>>(
      `select id, status, attempts, last_error, payload::text from ${bench.table.name} order by id`,
    );
    expect(rows.rows).to.deep.equal([
      {
        id: "first",
        status: "dead",
        attempts: 1,
        last_error: refusal("payload[1]"),
        payload: "[1, -12345678901234567890]",
      },
      {
        id: "id",
        status: "dead",
        attempts: 1,
        last_error: refusal("payload.order.id"),
        payload: '{"order": {"id": 9007199254740993}}',
      },
    ]);
    const errors = working.events.flatMap((event) => (event.type === "dead" ? [event.error] : []));
    for (const error of errors) expect(error).to.include({ code: "ERR_SVC_JOB_PAYLOAD" });
    // The job runs after its payload was corrected and the job was retried.
    await bench.pool.query(
      `update ${bench.table.name} set payload = '{"order":{"id":"9007199254740993"}}' where id = 'id'`,
    );
    await bench.table.retryDead(["id"]);
    await working.reported("done", 3);
    expect(seen.get("id")).to.deep.equal({ order: { id: "9007199254740993" } });
  });

  for (const [title, options] of [
    ["many at a time", { concurrency: 20, prefetch: 40 }],
    ["one at a time", { concurrency: 1 }],
  ] as const) {
    it(`are marked as dead when the worker claims ${title} (JOB-33)`, async () => {
      await using bench = await openBench(database.url);
      const payloads = Object.fromEntries(
        Array.from({ length: 120 }, (_, n) => [
          `${n}`,
          n % 10 === 3 ? `{"n":${2n ** 60n + BigInt(n)}}` : `{"n":${n}}`,
        ]),
      );
      await insert(bench, payloads);
      const seen: unknown[] = [];
      await using working = work(bench, {
        ...options,
        handlers: { a: (payload) => void seen.push(payload) },
      });
      await working.reported("done", 108);
      await working.reported("dead", 12);
      const left = (await bench.rows()).map(({ id, status }) => `${id} ${status}`);
      expect(left.toSorted()).to.deep.equal(
        Array.from({ length: 12 }, (_, n) => `${n * 10 + 3} dead`).toSorted(),
      );
      expect(seen).to.have.length(108);
    });
  }

  it("are marked as dead by claim(), which returns the other jobs (JOB-33)", async () => {
    await using bench = await openBench(database.url);
    await insert(bench, foreign);
    const jobs = await bench.table.claim(10);
    expect(jobs.map(({ id }) => id).toSorted()).to.deep.equal(["even", "fine"]);
    const dead = await bench.table.dead();
    expect(dead.map(({ id }) => id).toSorted()).to.deep.equal(["first", "id"]);
    const client = await bench.pool.connect();
    await insert(bench, { again: "9007199254740993" });
    await client.query("begin");
    expect(await bench.table.claim(1, { tx: client })).to.deep.equal([]);
    await client.query("rollback");
    client.release();
    expect((await bench.rows()).find(({ id }) => id === "again")).to.include({
      status: "pending",
      attempts: 0,
    });
  });

  it("keep every number that JavaScript wrote (JOB-33)", async () => {
    await using bench = await openBench(database.url);
    const payload = [
      1e300,
      1e21,
      2 ** 53,
      2 ** 63,
      Number.MAX_VALUE,
      1_700_000_000_123_456_800,
      0.1,
      "12345678901234567890",
    ];
    await bench.table.enqueue({ task: "a", payload });
    expect((await bench.table.claim())[0]?.payload).to.deep.equal(payload);
    for (const each of [null, "text", 7, false, { a: null }]) {
      await bench.table.enqueue({ task: "a", payload: each });
      expect((await bench.table.claim())[0]?.payload).to.deep.equal(each);
    }
  });

  it("do not block other jobs when their payload is nested deeper than the stack allows (JOB-33)", async () => {
    await using bench = await openBench(database.url);
    const deep = 3_000;
    await insert(bench, { deep: `${"[".repeat(deep)}9007199254740993${"]".repeat(deep)}`, usual: "{}" });
    const jobs = await bench.table.claim(2);
    expect(jobs.map(({ id }) => id)).to.deep.equal(["usual"]);
  });
});
