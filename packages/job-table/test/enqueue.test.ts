import { currentContext, RequestContext, runWithContext } from "@svc/context";
import { testDatabase } from "@svc/dev-services";
import { createJobTable, type NewJob } from "@svc/job-table";
import { withTransaction } from "@svc/sql";
import { badTenantIds, goodTenantIds, rejection, until, withActiveSpan } from "@svc/test-support";
import { expect } from "chai";
import { mintJobId } from "../src/job-id.ts";
import { openBench, openClient } from "./support/bench.ts";

const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

describe("enqueue", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-enqueue" });

  it("JOB-1 JOB-2 JOB-3 JOB-15 queues a job with the contract's defaults and an id of 32 hex digits", async () => {
    await using bench = await openBench(database.url, { name: "svc_jobs" });
    const { id, enqueued } = await bench.table.enqueue({ task: "mail.send", payload: { to: "ann" } });
    expect(id).to.match(/^[0-9a-f]{32}$/);
    expect(enqueued).to.equal(true);
    const [row] = await bench.rows();
    expect(row).to.deep.include({
      id,
      task: "mail.send",
      payload: { to: "ann" },
      attempts: 0,
      max_attempts: 3,
      locked_until: null,
      request_id: null,
      tenant_id: null,
      status: "pending",
      last_error: null,
      trace: null,
    });
    expect(await bench.table.enqueue({ task: "no.payload" })).to.have.property("enqueued", true);
    expect((await bench.rows())[1]?.payload).to.deep.equal({});
  });

  it("JOB-3 generates UUIDv7 ids without hyphens, so that consecutive ids are adjacent in the index", async () => {
    await using bench = await openBench(database.url);
    const before = Date.now();
    const queued = await bench.table.enqueueMany(Array.from({ length: 9000 }, () => ({ task: "a" })));
    const after = Date.now();
    const ids = queued.map(({ id }) => id);
    expect(new Set(ids).size).to.equal(9000);
    for (const id of ids) expect(id).to.match(/^[0-9a-f]{12}7[0-9a-f]{3}8[0-9a-f]{15}$/);
    const times = ids.map((id) => Number.parseInt(id.slice(0, 12), 16));
    expect(Math.min(...times)).to.be.within(before, after);
    expect(times).to.deep.equal(times.toSorted((a, b) => a - b));
    const [first = "", second = ""] = ids;
    expect(first.slice(-15), "the remaining characters are random").to.not.equal(second.slice(-15));
    const { rows } = await bench.pool.query<{ id: string }>(
      `select id::uuid::text as id from "${bench.table.name}" where id = $1`,
      [first],
    );
    expect(rows[0]?.id.replaceAll("-", "")).to.equal(first);
  });

  it("JOB-3 generates distinct ids with a clock that is at 0 or goes back", () => {
    const real = Date.now;
    const ids = new Set<string>();
    try {
      for (const now of [0, 5, 3]) {
        Date.now = () => now;
        for (let n = 0; n < 5000; n++) ids.add(mintJobId());
      }
    } finally {
      Date.now = real;
    }
    expect(ids.size).to.equal(15_000);
    for (const id of ids) expect(id).to.match(/^0{11}[053]7[0-9a-f]{3}8[0-9a-f]{15}$/);
  });

  it("rejects a payload whose size exceeds the limit after PostgreSQL writes numbers without exponents", async () => {
    await using bench = await openBench(database.url);
    const payload = Array<number>(6500).fill(1e308);
    const refused = rejection(bench.table.enqueue({ task: "a", payload }));
    expect((await refused).message).to.match(
      /^payload has 20\d{5} bytes as JSON with its numbers written without exponents; at most 1048576 are allowed \(maxPayloadBytes\)$/,
    );
    await bench.table.enqueue({ task: "a", payload: payload.slice(0, 3000) });
    expect((await bench.table.claim(1))[0]?.payload).to.deep.equal(payload.slice(0, 3000));
  });

  it("rejects a bare client, a pool and a misspelled option name instead of { tx }, because the job would survive a rollback", async () => {
    await using bench = await openBench(database.url);
    const { table } = bench;
    await using client = await openClient(database.url);
    const lease = { id: "x", attempts: 1, lockedUntil: "2026-01-01T00:00:00.000000Z" };
    for (const wrong of [
      client,
      { client },
      { tx: null },
      { tx: bench.pool },
      { transaction: client },
      null,
      7,
    ]) {
      const options = wrong as { tx: typeof client };
      const calls = [
        table.enqueue({ id: "x", task: "a" }, options),
        table.enqueueMany([{ id: "x", task: "a" }], options),
        table.claim(1, options),
        table.ack(lease, options),
        table.fail(lease, "y", options),
        table.release(lease, options),
        table.retryDead("all", options),
      ];
      for (const call of calls)
        expect(await rejection(call)).to.include({ name: "JobError", code: "ERR_SVC_JOB_ARGUMENT" });
    }
    expect(await bench.rows()).to.deep.equal([]);
  });

  it("JOB-3 changes nothing for an id that already exists, in any state", async () => {
    await using bench = await openBench(database.url);
    const job = { id: "once", task: "a", payload: 1 };
    expect(await bench.table.enqueue(job)).to.deep.equal({ id: "once", enqueued: true });
    expect(await bench.table.enqueue({ ...job, payload: 2 })).to.deep.equal({ id: "once", enqueued: false });
    await bench.table.claim();
    expect(await bench.table.enqueue({ ...job, payload: 3 })).to.have.property("enqueued", false);
    expect(await bench.rows()).to.have.lengthOf(1);
    expect((await bench.rows())[0]).to.deep.include({ payload: 1, status: "running" });
  });

  it("JOB-3 queues once when 16 callers use the same id", async () => {
    await using bench = await openBench(database.url);
    const results = await Promise.all(
      Array.from({ length: 16 }, () => bench.table.enqueue({ id: "same", task: "a" })),
    );
    expect(results.filter(({ enqueued }) => enqueued)).to.have.lengthOf(1);
  });

  it("JOB-3 queues many jobs in one statement and reports in order which of them were new", async () => {
    await using bench = await openBench(database.url);
    await bench.table.enqueue({ id: "b", task: "old" });
    const ids = ["c", "b", "a", "c", undefined];
    const results = await bench.table.enqueueMany(
      ids.map((id) => ({ id, task: "new", payload: [id ?? null] })),
    );
    expect(results.slice(0, 4)).to.deep.equal([
      { id: "c", enqueued: true },
      { id: "b", enqueued: false },
      { id: "a", enqueued: true },
      { id: "c", enqueued: false },
    ]);
    expect(results[4]).to.have.property("enqueued", true);
    expect(await bench.rows()).to.have.lengthOf(4);
    const all = await bench.table.enqueueMany(
      Array.from({ length: 2000 }, (_, n) => ({ task: "bulk", payload: { n } })),
    );
    expect(all.every(({ enqueued }) => enqueued)).to.equal(true);
    expect(await bench.table.stats()).to.deep.equal({ pending: 2004, running: 0, dead: 0 });
    expect(await bench.table.enqueueMany([])).to.deep.equal([]);
  });

  it("JOB-27 prefers the trace of an active OpenTelemetry span to that of the current context", async () => {
    await using bench = await openBench(database.url);
    const caller = { traceId: TRACEPARENT.slice(3, 35), traceparent: TRACEPARENT, tracestate: "a=1" };
    const active = TRACEPARENT.replace(/-[0-9a-f]{16}-/, "-00f067aa0ba902b7-");
    await withActiveSpan(active, async () => {
      await bench.table.enqueue({ id: "1", task: "a" });
      await runWithContext(new RequestContext({ trace: caller }), () =>
        bench.table.enqueue({ id: "2", task: "a" }),
      );
      await bench.table.enqueue({ id: "3", task: "a", trace: { traceparent: TRACEPARENT } });
      await bench.table.enqueue({ id: "4", task: "a", trace: null });
    });
    expect((await bench.rows()).map(({ trace }) => trace)).to.deep.equal([
      { traceparent: active },
      { traceparent: active },
      { traceparent: TRACEPARENT },
      null,
    ]);
  });

  it("JOB-27 takes request id, tenant and trace from the current context unless the job sets them", async () => {
    await using bench = await openBench(database.url);
    const trace = { traceId: TRACEPARENT.slice(3, 35), traceparent: TRACEPARENT, tracestate: "a=1" };
    const context = new RequestContext({ requestId: "r-1", tenantId: "acme", trace });
    await runWithContext(context, () => bench.table.enqueue({ id: "1", task: "a" }));
    await runWithContext(context, () => bench.table.enqueueMany([{ id: "2", task: "a" }]));
    await runWithContext(context, () =>
      bench.table.enqueue({ id: "3", task: "a", requestId: null, tenantId: null, trace: null }),
    );
    const given = { requestId: "r-2", tenantId: "other", trace: { traceparent: TRACEPARENT } };
    await runWithContext(context, () => bench.table.enqueue({ id: "4", task: "a", ...given }));
    await runWithContext(new RequestContext(), () => bench.table.enqueue({ id: "5", task: "a" }));
    const rows = (await bench.rows()).map(({ id, request_id, tenant_id, trace: kept }) => [
      id,
      request_id,
      tenant_id,
      kept,
    ]);
    const carrier = { traceparent: TRACEPARENT, tracestate: "a=1" };
    expect(rows).to.deep.equal([
      ["1", "r-1", "acme", carrier],
      ["2", "r-1", "acme", carrier],
      ["3", null, null, null],
      ["4", "r-2", "other", { traceparent: TRACEPARENT }],
      ["5", null, null, null],
    ]);
  });

  it("writes in the caller's transaction, given as tx or as db", async () => {
    await using bench = await openBench(database.url);
    const undone = rejection(
      withTransaction(bench.pool, async (tx) => {
        await bench.table.enqueue({ task: "a" }, { tx });
        await bench.table.enqueueMany([{ task: "b" }], { tx });
        await createJobTable({ db: tx, name: bench.table.name }).enqueue({ task: "c" });
        throw new Error("never mind");
      }),
    );
    expect((await undone).message).to.equal("never mind");
    expect(await bench.rows()).to.deep.equal([]);
    await withTransaction(bench.pool, (tx) => bench.table.enqueue({ task: "kept" }, { tx }));
    expect(await bench.rows()).to.have.lengthOf(1);
  });

  it("notifies listeners immediately, again for jobs queued shortly after, and when a transaction commits", async () => {
    let now = 0;
    await using bench = await openBench(database.url, { notifyEveryMs: 500, now: () => now });
    await using listener = await openClient(database.url);
    const heard: string[] = [];
    listener.on("notification", ({ channel }) => heard.push(channel));
    await listener.query(`listen "svc_job:${bench.table.name}"`);
    // Queue all jobs concurrently, because the delayed notification follows after half a second.
    await Promise.all(Array.from({ length: 5 }, () => bench.table.enqueue({ task: "a" })));
    await until("the first and the late one", () => heard.length === 2);
    now = 1000;
    await bench.table.enqueue({ task: "later", delaySeconds: 60 });
    await withTransaction(bench.pool, async (tx) => {
      await bench.table.enqueue({ task: "a" }, { tx });
      await listener.query("select 1");
      expect(heard).to.have.lengthOf(2);
    });
    await until("that of the commit", () => heard.length === 3);
    now = 2000;
    await bench.table.enqueue({ task: "a", availableAt: new Date(0) });
    await until("that of a moment that has come", () => heard.length === 4);
  });

  it("sends a delayed notification outside the context of the request that queued the job", async () => {
    await using bench = await openBench(database.url);
    const contexts: unknown[] = [];
    bench.pool.on("acquire", (client) => {
      const { query } = Object.getPrototypeOf(client) as { query: (...args: unknown[]) => never };
      client.query = (...args: unknown[]) => {
        if (String(args[0]).startsWith("select pg_notify")) contexts.push(currentContext());
        return query.apply(client, args);
      };
    });
    const table = createJobTable({ db: bench.pool, name: bench.table.name, notifyEveryMs: 50 });
    await runWithContext(new RequestContext(), async () => {
      await Promise.all([table.enqueue({ task: "a" }), table.enqueue({ task: "a" })]);
    });
    await until("the notification", () => contexts.length === 1);
    expect(contexts).to.deep.equal([undefined]);
  });

  it("sends no notification with notify: false", async () => {
    await using bench = await openBench(database.url, { notify: false });
    await using listener = await openClient(database.url);
    const heard: string[] = [];
    listener.on("notification", ({ channel }) => heard.push(channel));
    await listener.query(`listen "svc_job:${bench.table.name}"`);
    await bench.table.enqueue({ task: "a" });
    await bench.table.enqueueMany([{ task: "a" }]);
    await listener.query("select pg_notify($1, '')", [`svc_job:${bench.table.name}`]);
    await until("our own", () => heard.length === 1);
  });

  const circular: unknown[] = [];
  circular.push(circular);
  const wrong: readonly (readonly [string, unknown, string])[] = [
    ["a number instead of a job", 1, "a job must be an object with a task"],
    ["an unknown member", { task: "a", delay: 1 }, 'unknown member "delay" in a job; expected one of task, '],
    ["a job without a task", {}, "task must be a string; it is undefined"],
    ["an empty task", { task: "" }, "task must have 1 to 255 characters; it has 0"],
    ["a long task", { task: "x".repeat(256) }, "task must have 1 to 255 characters; it has 256"],
    ["a task with NUL", { task: "a\0" }, "task must not contain control characters"],
    ["an id that is a number", { task: "a", id: 7 }, "id must be a string; it is 7"],
    ["a long id", { task: "a", id: "x".repeat(256) }, "id must have 1 to 255 characters"],
    ["half a surrogate pair in the id", { task: "a", id: "\ud83d" }, "id must not contain"],
    [
      "a function as payload",
      { task: "a", payload: () => 1 },
      "cannot be serialized as JSON; its type is function",
    ],
    ["a circular payload", { task: "a", payload: circular }, "cannot be serialized as JSON"],
    ["a bigint as payload", { task: "a", payload: 1n }, "cannot be serialized as JSON"],
    ["NUL in the payload", { task: "a", payload: { text: "a\0b" } }, "contains NUL or an unpaired surrogate"],
    ["NUL in a key of the payload", { task: "a", payload: { "\0": 1 } }, "contains NUL"],
    ["half a surrogate pair in the payload", { task: "a", payload: "\udc00" }, "an unpaired surrogate"],
    [
      "a payload of 10 MB",
      { task: "a", payload: "x".repeat(1e7) },
      "payload has 10000002 bytes as JSON; at most 1048576",
    ],
    [
      "0 attempts",
      { task: "a", maxAttempts: 0 },
      "maxAttempts must be a whole number from 1 to 1000; it is 0",
    ],
    ["half an attempt", { task: "a", maxAttempts: 1.5 }, "maxAttempts must be a whole number"],
    ["a negative delay", { task: "a", delaySeconds: -1 }, "delaySeconds must be a number from 0"],
    ["NaN as delay", { task: "a", delaySeconds: NaN }, "delaySeconds must be a number from 0"],
    ["a string as date", { task: "a", availableAt: "tomorrow" }, "availableAt must be a Date; it is string"],
    ["an invalid date", { task: "a", availableAt: new Date(NaN) }, "availableAt must be a valid date"],
    ["a date too far away", { task: "a", availableAt: new Date(8.64e15) }, "from 1970 to 9999"],
    [
      "both a delay and a due time",
      { task: "a", delaySeconds: 1, availableAt: new Date() },
      "delaySeconds or availableAt, not both",
    ],
    [
      "an invalid trace context",
      { task: "a", trace: { traceparent: "x" } },
      "trace must have a valid traceparent",
    ],
    ...Object.entries(badTenantIds).map(
      ([what, tenantId]) =>
        [`a tenant with ${what}`, { task: "a", tenantId }, "tenantId must have 1 to 255 characters"] as const,
    ),
    ["an empty tenant", { task: "a", tenantId: "" }, "tenantId must have 1 to 255 characters"],
    ["a tenant that is a number", { task: "a", tenantId: 7 }, "tenantId must be a string; it is 7"],
    ["an empty request id", { task: "a", requestId: "" }, "requestId must have 1 to 255 characters"],
  ];
  for (const [what, job, message] of wrong) {
    it(`rejects ${what}, alone and among other jobs, before anything is sent`, async () => {
      const unreachable = { query: () => Promise.reject(new Error("sent")) };
      const table = createJobTable({ db: unreachable });
      const error = await rejection(table.enqueue(job as NewJob));
      expect(error).to.include({ name: "JobError", code: "ERR_SVC_JOB_ARGUMENT" });
      expect(error.message).to.include(message);
      expect((await rejection(table.enqueueMany([{ task: "fine" }, job as NewJob]))).message).to.equal(
        error.message,
      );
    });
  }

  it("queues a job with every valid tenant id (AUTH-39)", async () => {
    await using bench = await openBench(database.url);
    for (const tenantId of goodTenantIds) await bench.table.enqueue({ task: "a", tenantId });
    expect((await bench.rows()).map((row) => row.tenant_id)).to.have.members([...goodTenantIds]);
  });

  it("rejects a value that is not a list of at most 10,000 jobs", async () => {
    const table = createJobTable({ db: { query: () => Promise.reject(new Error("sent")) } });
    const error = await rejection(table.enqueueMany(Array.from({ length: 10_001 }, () => ({ task: "a" }))));
    expect(error).to.include({
      code: "ERR_SVC_JOB_ARGUMENT",
      message: "jobs must be a list of at most 10000 jobs",
    });
  });

  it("rejects jobs whose payloads are too long in total", async () => {
    const table = createJobTable({ db: { query: () => Promise.reject(new Error("sent")) } });
    const payload = "x".repeat(1e6);
    const error = await rejection(
      table.enqueueMany(Array.from({ length: 68 }, () => ({ task: "a", payload }))),
    );
    expect(error).to.include({ code: "ERR_SVC_JOB_ARGUMENT" });
    expect(error.message).to.include("at most 67108864 are allowed");
  });

  for (const how of ["one by one", "together"]) {
    it(`keeps every JSON payload unchanged, ${how}`, async () => {
      await using bench = await openBench(database.url);
      const payloads = [
        null,
        "text",
        12.5,
        [],
        [1, [2]],
        { "": { "ä😀": "\\u0000 \\\\u0000 \u0001" } },
        "'; drop table x; --",
        'a\n\t\b\f\r\u2028\u007f "\\" {NULL,null}',
      ];
      const texts = ["a'\"$1", "NULL", "null", "{}", '{"a",b}', "\\", '\\"', " a, b ", "ä😀\u2028", '"'];
      const jobs = [...payloads, ...texts].map((payload, n) => ({
        id: texts[n] ?? `${n}`,
        task: texts[n % texts.length] ?? "",
        payload,
        requestId: texts[n % texts.length],
        tenantId: n % 2 === 0 ? null : "acme",
        maxAttempts: n + 1,
        ...(n % 2 === 0 ? { availableAt: new Date(n) } : { delaySeconds: 0 }),
      }));
      if (how === "together") await bench.table.enqueueMany(jobs);
      else for (const job of jobs) await bench.table.enqueue(job);
      const claimed = new Map((await bench.table.claim(100)).map((job) => [job.id, job]));
      expect(claimed.size).to.equal(jobs.length);
      for (const { id, task, payload, requestId, tenantId, maxAttempts } of jobs) {
        const tenant = tenantId ?? undefined;
        const expected = { task, payload, requestId, tenantId: tenant, maxAttempts };
        expect(claimed.get(id), id).to.deep.include(expected);
      }
    });
  }
});
