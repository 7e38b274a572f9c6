import { readFileSync } from "node:fs";
import { testDatabase } from "@svc/dev-services";
import { createJobTable, createWorker, type JobTable } from "@svc/job-table";
import { codeBlocks } from "@svc/test-support";
import { expect } from "chai";
import { Pool } from "pg";
import { linesOf, needsPython, start } from "./support/consumer.ts";

const hostile = [
  `'; drop table kept; --`,
  `"quoted" :'id' :"table" \\' \\\\ $1 $$`,
  "two\nlines\r\n\\.\n\\q\n\\! touch hacked",
  "Zoë 日本 🦊 \u2028 \u0085 -v",
  "-c \\! :text",
  "\\",
  " ",
];
const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

describe("a consumer in Python", function () {
  this.timeout(60_000);
  needsPython();
  const database = testDatabase({ name: "jobs from python" });
  let pool: Pool;

  before(() => {
    pool = new Pool({ connectionString: database.url });
    pool.on("error", () => undefined);
  });
  after(() => pool.end());

  function tableOf(name: string): JobTable {
    return createJobTable({ db: pool, name });
  }

  function consume(table: string, ...args: readonly string[]): ReturnType<typeof start> {
    return start("python3", ["test/support/handlers.py", ...args], {
      DATABASE_URL: database.url,
      JOBS: table,
      ...(table === "hurried_jobs" ? { VISIBILITY: "0.5" } : {}),
    });
  }

  async function drained(table: string): Promise<Record<string, unknown>[]> {
    await using consumer = consume(table, "--drain");
    const { code, stdout, stderr } = await consumer.ended;
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: "" });
    return linesOf(stdout);
  }

  it("JOB-20 runs a job of a Node service and enqueues one for it, and the service prints what the README shows", async () => {
    const env = { DATABASE_URL: database.url };
    const output = codeBlocks(readFileSync(new URL("../README.md", import.meta.url), "utf8"), "text");
    await using service = start("node", ["service.js"], env);
    await using consumer = start("python3", ["reports.py"], env);
    const { stdout, stderr } = await service.ended;
    expect(stderr).to.equal("");
    expect(stdout).to.equal(output[0]);
    await consumer.wrote("job done");
    consumer.terminate();
    const ended = await consumer.ended;
    expect(ended.code).to.equal(0);
    // Ignore the errors that the consumer logs until the service has created the table.
    const done = linesOf(ended.stdout).filter(({ level }) => level === "info");
    expect(done.map(({ job_id: _id, ...line }) => line)).to.deep.equal([
      {
        service: "reports",
        level: "info",
        message: "job done",
        task: "report.render",
        attempts: 1,
        request_id: "4bf92f3577b34da6a3ce929d0e0e4736",
        trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
        tenant_id: "harbour-cafe",
      },
    ]);
  });

  it("JOB-8 JOB-9 JOB-10 JOB-13 JOB-22 leaves failed jobs in the same state as the Node worker", async () => {
    const [theirs, ours] = [tableOf("their_jobs"), tableOf("our_jobs")];
    await pool.query(`create table delays (name text, id text, seconds float8);
create function note_delay() returns trigger language plpgsql as $$ begin
  if new.status = 'pending' and old.status = 'running' then
    insert into delays values (tg_table_name, new.id, date_part('epoch', new.available_at - statement_timestamp()));
    -- No job is tried again, however long the remaining test takes.
    new.available_at := new.available_at + interval '1 hour';
  end if;
  return new;
end $$`);
    const message = `no \u001b[31manswer\u001b[0m of postgres://me:secret@host/x\u0000\u0007\n${"é".repeat(2500)}`;
    for (const table of [theirs, ours]) {
      await table.ensureSchema();
      await pool.query(
        `create trigger note before update on ${table.name} for each row execute function note_delay()`,
      );
      const safe = message.replace("\u0000", "");
      await table.enqueueMany([
        { id: "first", task: "fail", payload: { message: "plain", cause: "deep" } },
        { id: "sixth", task: "fail", payload: { message: safe }, maxAttempts: 30 },
        { id: "twentieth", task: "fail", payload: { message: "" }, maxAttempts: 30 },
        { id: "last", task: "fail", payload: { message: "gone" }, maxAttempts: 1 },
        { id: "unknown", task: "nobody.knows" },
        { id: "spent", task: "fail" },
      ]);
      await pool.query(`update ${table.name} set attempts = case id when 'sixth' then 5 else 19 end
        where id in ('sixth', 'twentieth')`);
      await pool.query(`update ${table.name} set status = 'running', attempts = 3, locked_until = now() - interval '1 s'
        where id = 'spent'`);
    }
    await drained("their_jobs");
    await drainedByOurs(ours);
    const [their, our] = await Promise.all([rowsOf(theirs), rowsOf(ours)]);
    expect(their).to.deep.equal(our);
    expect(their.map(({ id, status, attempts }) => [id, status, attempts])).to.deep.equal([
      ["first", "pending", 1],
      ["last", "dead", 1],
      ["sixth", "pending", 6],
      ["spent", "dead", 3],
      ["twentieth", "pending", 20],
      ["unknown", "dead", 1],
    ]);
    expect(their.map(({ last_error }) => String(last_error).slice(0, 40))).to.deep.equal([
      "Error: plain (caused by Error: deep)",
      "Error: gone",
      "Error: no answer of postgres://***@host/",
      "lease expired on the last attempt",
      "Error",
      "JobError: there is no handler for the ta",
    ]);
    expect(String(their[2]?.["last_error"])).to.have.lengthOf(2000);
    const { rows: delays } = await pool.query<{ id: string; all: number[] }>(
      "select id, array_agg(seconds) as all from delays group by id order by id",
    );
    expect(delays).to.deep.equal([
      { id: "first", all: [2, 2] },
      { id: "sixth", all: [64, 64] },
      { id: "twentieth", all: [300, 300] },
    ]);
  });

  it("JOB-5 JOB-7 JOB-17 JOB-18 treats hostile strings in payloads, tenants and traces as data", async () => {
    const table = tableOf("kept_jobs");
    await table.ensureSchema();
    await pool.query("create table kept (id text, text text, tenant text, headers jsonb)");
    // Jobs of other programs may contain control characters in any string.
    await pool.query(
      `insert into kept_jobs (id, task, payload, tenant_id, request_id, trace, available_at)
       select t, 'keep', jsonb_build_object('text', t), t, t, $2::jsonb, now() from unnest($1::text[]) as t`,
      [hostile, { traceparent, tracestate: hostile[1] }],
    );
    // The payload of `deep` is nested too deeply for Python, that of `long` is too long for a process argument.
    await pool.query(`insert into kept_jobs (id, task, payload, max_attempts)
      values ('deep', 'keep', (repeat('[', 5000) || repeat(']', 5000))::jsonb, 1),
        ('long', 'keep', jsonb_build_object('text', repeat('x', 3000000)), 1)`);
    const lines = await drained("kept_jobs");
    const { rows } = await pool.query("select * from kept");
    const headers = (id: string): object => ({ "X-Request-ID": id, traceparent, tracestate: hostile[1] });
    expect(rows).to.have.deep.members(
      hostile.map((id) => ({ id, text: id, tenant: id, headers: headers(id) })),
    );
    const done = lines.filter(({ message }) => message === "job done");
    expect(done.map(({ request_id }) => request_id)).to.have.members(hostile);
    expect(new Set(done.map(({ trace_id }) => trace_id))).to.deep.equal(new Set([traceparent.slice(3, 35)]));
    expect((await table.dead()).map(({ id }) => id)).to.have.members(["deep", "long"]);
    expect(await table.stats()).to.deep.equal({ pending: 0, running: 0, dead: 2 });
  });

  it("JOB-11 JOB-21 releases its job on SIGTERM, but not a job whose lease it has lost", async () => {
    await using consumer = consume("stopped_jobs");
    await consumer.wrote("the database did not answer");
    const table = tableOf("stopped_jobs");
    await table.ensureSchema();
    await table.enqueue({ id: "stolen", task: "lose" });
    await consumer.wrote("job lost");
    await table.enqueue({ id: "cut", task: "wait" });
    await consumer.wrote("waiting");
    consumer.terminate();
    const { code, stdout } = await consumer.ended;
    expect(code).to.equal(0);
    expect(linesOf(stdout).at(-1)).to.include({ message: "job released", job_id: "cut" });
    const { rows } = await pool.query(
      "select id, status, attempts, locked_until is null as free from stopped_jobs order by id",
    );
    expect(rows).to.deep.equal([
      { id: "cut", status: "pending", attempts: 0, free: true },
      { id: "stolen", status: "running", attempts: 2, free: false },
    ]);
  });

  it("writes complete log lines when it is stopped while a handler logs", async () => {
    const table = tableOf("saying_jobs");
    await table.ensureSchema();
    await table.enqueue({ task: "say" });
    await using consumer = consume("saying_jobs");
    const { code, stdout, stderr } = await consumer.ended;
    expect({ code, stderr }).to.deep.equal({ code: 0, stderr: "" });
    expect(linesOf(stdout).map(({ message }) => message)).to.deep.equal(["stopping", "job released"]);
  });

  it("JOB-16 JOB-19 fails a job that takes too long before the lease expires, and claims jobs of lost consumers", async () => {
    const table = tableOf("hurried_jobs");
    await table.ensureSchema();
    await table.enqueue({ id: "orphan", task: "wait" });
    await pool.query(
      "update hurried_jobs set status = 'running', attempts = 2, locked_until = now() - interval '1 second'",
    );
    await drained("hurried_jobs");
    expect(
      (await table.dead()).map(({ id, attempts, lastError }) => ({ id, attempts, lastError })),
    ).to.deep.equal([{ id: "orphan", attempts: 3, lastError: "JobError: the job took longer than 400 ms" }]);
  });

  async function rowsOf(table: JobTable): Promise<Record<string, unknown>[]> {
    const { rows } = await pool.query<Record<string, unknown>>(
      `select id, status, attempts, locked_until, last_error from ${table.name} order by id collate "C"`,
    );
    return rows;
  }
});

/** Runs the Node worker, with handlers that fail like those in Python, until it has processed the six jobs. */
async function drainedByOurs(table: JobTable): Promise<void> {
  let left = 6;
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const worker = createWorker({
    table,
    pollMs: 20,
    handlers: {
      fail(payload) {
        const { message, cause } = payload as { message: string; cause?: string };
        throw new Error(message, cause === undefined ? undefined : { cause: new Error(cause) });
      },
    },
    onEvent({ type }) {
      if (type === "failed" || type === "dead") left -= 1;
      if (left === 0) resolve();
    },
  });
  worker.start();
  await ended;
  await worker.stop();
}
