import { randomBytes } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { currentContext } from "@svc/context";
import { createDatabase, enableRowSecurity } from "@svc/database";
import { openTestLogin, testDatabase } from "@svc/dev-services";
import type { Service } from "@svc/express";
import { notFoundError } from "@svc/problem";
import { signToken } from "@svc/test-support";
import { expect } from "chai";
import request from "supertest";
import { runChild } from "./support/child.ts";
import { onBothMajors } from "./support/majors.ts";
import { makeService, startService, type TestService } from "./support/test-service.ts";

const secret = randomBytes(32).toString("base64");
const plugins = (more = "", enabled = '"observability", "metrics", "database", "queue"'): string => `
[plugins]
enabled = [${enabled}]
[plugin.database]
url = "\${DATABASE_URL}"
[plugin.queue]
poll = 0.05
${more}
`;

interface Report {
  readonly status: string;
  readonly checks: Readonly<Record<string, { healthy: boolean; critical: boolean; detail: string }>>;
}

/** Calls `look` until `fits` accepts its result, and returns that result. The test's own timeout is the limit. */
async function until<T>(look: () => Promise<T>, fits: (value: T) => boolean): Promise<T> {
  for (;;) {
    const value = await look();
    if (fits(value)) return value;
    await delay(20);
  }
}

const statsOf = async ({ service: { jobs } }: TestService): Promise<object> =>
  (await (jobs ?? expect.fail("there are no jobs")).stats()) satisfies object;

async function report(test: TestService): Promise<Report> {
  return (await request(test.url).get("/ready")).body as Report;
}

describe("the plugin `queue`", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "express-queue" });
  const env = (more = {}): Record<string, string> => ({ DATABASE_URL: database.url, ...more });

  for (const [setting, seen] of [
    ["", "running"],
    ["claim_on_enqueue = true", "running"],
    ["claim_on_enqueue = false", "pending"],
  ] as const) {
    it(`JOB-23 inserts a job for the idle worker of this process as ${seen} with ${setting || "the default"}`, async () => {
      const table = `claims_${randomBytes(4).toString("hex")}`;
      let ended = (): void => undefined;
      await using test = await startService({
        toml: plugins(`name = "${table}"\n${setting}`),
        env: env(),
        jobs: { note: () => ended() },
      });
      const { jobs, db } = test.service;
      if (jobs === undefined || db === undefined) throw new Error("the service has no queue");
      await jobs.ensureSchema();
      await db.query(`create table ${table}_inserts (status text)`);
      await db.query(
        `create function ${table}_note() returns trigger language plpgsql as
         $$ begin insert into ${table}_inserts values (new.status); return null; end $$`,
      );
      await db.query(
        `create trigger note after insert on ${table} for each row execute function ${table}_note()`,
      );
      // A worker claims no job in its insert until its first claims have found the table empty.
      for (let turn = 0; turn < 20; turn++) {
        const { promise: done, resolve } = Promise.withResolvers<void>();
        ended = resolve;
        await jobs.enqueue({ task: "note" });
        await done;
      }
      const { rows } = await db.query(`select distinct status from ${table}_inserts order by status`);
      expect(rows.map(({ status }) => status as string)).to.include(seen);
      if (seen === "pending") expect(rows).to.have.lengthOf(1);
    });
  }

  it("JOB-1 JOB-27 RDY-15 runs the configured table's jobs in the context of the request that queued them", async () => {
    const { promise: done, resolve } = Promise.withResolvers<Record<string, unknown>>();
    await using test = await startService({
      toml: plugins('name = "mail_jobs"\ndepth_every = 0.05'),
      env: env(),
      jobs: {
        "mail.send"({ to }: { to: string }, job, service) {
          const { requestId, log, trace } = currentContext() ?? expect.fail("there is no context");
          log?.info({}, "in the handler");
          resolve({
            to,
            requestId,
            trace: trace?.traceId,
            attempts: job.attempts,
            db: service.db !== undefined,
          });
        },
      },
      routes: (app, { jobs }) =>
        void app.post("/mails", async (_req, res) => {
          res.status(202).json(await jobs?.enqueue({ id: "m-1", task: "mail.send", payload: { to: "ann" } }));
        }),
    });
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    const answer = await request(test.url)
      .post("/mails")
      .set({ "X-Request-ID": "r-1", traceparent: `00-${traceId}-b7ad6b7169203331-01` });
    expect(answer.body).to.deep.equal({ id: "m-1", enqueued: true });
    expect(await done).to.deep.equal({ to: "ann", requestId: "r-1", trace: traceId, attempts: 1, db: true });
    const line = await test.line(({ message }) => message === "in the handler");
    expect(line).to.include({ request_id: "r-1", trace_id: traceId, job_id: "m-1", task: "mail.send" });
    await test.line(({ message }) => message === "job done");
    const { rows } =
      (await test.service.db?.query("select to_regclass('mail_jobs') as table")) ?? expect.fail();
    expect(rows).to.deep.equal([{ table: "mail_jobs" }]);

    await test.service.jobs?.enqueue({ id: "x", task: "nobody.knows" });
    const { checks, status } = await until(
      () => report(test),
      ({ checks, status }) => checks["queue"]?.healthy === false && status === "degraded",
    );
    expect(status).to.equal("degraded");
    expect(checks["queue"]).to.include({ critical: false, detail: "1 job(s) in the dead-letter queue" });
    expect(checks["worker"]).to.include({ critical: false, healthy: true });
    const metrics = await until(
      async () => (await request(test.url).get("/metrics")).text,
      (text) => text.includes('queue_jobs{status="dead"} 1'),
    );
    expect(metrics)
      .to.contain('jobs_total{task="mail.send",outcome="done"} 1')
      .and.to.contain('jobs_total{task="<unknown>",outcome="dead"} 1')
      .and.to.contain("jobs_in_progress 0");
    const info = await request(test.url).get("/info");
    expect((info.body as { plugins: object[] }).plugins).to.deep.include({
      name: "queue",
      table: "mail_jobs",
      role: "both",
      tasks: ["mail.send"],
      schedules: [],
    });
    expect(JSON.stringify([info.body, checks, test.lines])).not.to.contain(
      new URL(database.url).password || "postgres:",
    );
  });

  it("JOB-17 lets handlers see only the rows of the tenant that queued the job", async () => {
    await using login = await openTestLogin({
      url: database.url,
      grants: ["grant usage, create on schema public to login"],
    });
    await using db = createDatabase({ url: login.url });
    await db.query("create table letters (tenant_id text not null, text text not null)");
    await enableRowSecurity(db, { table: "letters" });
    for (const tenant of ["acme", "globex"]) {
      await db.withTenant(tenant, (tx) =>
        tx.query("insert into letters values ($1, $2)", [tenant, `to ${tenant}`]),
      );
    }
    const { promise: seen, resolve } = Promise.withResolvers<unknown>();
    await using test = await startService({
      toml: plugins('name = "letter_jobs"'),
      env: env({ DATABASE_URL: login.url }),
      jobs: {
        async count(_payload, job, service) {
          expect(currentContext()?.tenantId).to.equal("acme");
          const rows = await service.db?.withTenant(job.tenantId ?? expect.fail(), (tx) =>
            tx.query("select text from letters"),
          );
          resolve(rows?.rows);
        },
      },
    });
    await test.service.jobs?.enqueue({ task: "count", tenantId: "acme" });
    expect(await seen).to.deep.equal([{ text: "to acme" }]);
    await test.line(({ message }) => message === "job done");
  });

  it("RDY-15 makes /ready unavailable while its table is missing, and creates the table once its database role may create tables", async () => {
    await using login = await openTestLogin({ url: database.url });
    await using test = await startService({
      toml: plugins('name = "late_jobs"', '"database", "queue"'),
      env: env({ DATABASE_URL: login.url }),
      jobs: { nothing: () => undefined },
    });
    const { status, checks } = await report(test);
    expect(status).to.equal("unavailable");
    expect(checks["queue"]).to.include({ healthy: false, critical: true, detail: "its table is missing" });
    expect(checks["worker"]).to.include({ healthy: false, critical: false, detail: "not started" });
    const warning = await test.line(({ message }) => message === "could not create tables; retrying");
    expect(warning["settings"]).to.deep.equal(["plugin.queue.name"]);
    await using owner = createDatabase({ url: database.url });
    await owner.query(`grant usage, create on schema public to ${login.name}`);
    expect(
      (
        await until(
          () => report(test),
          (ready) => ready.status === "ok",
        )
      ).checks["worker"],
    ).to.include({
      detail: "working",
    });
  });

  it("CFG-12 refuses to start with tables of a different structure, and names keys and columns", async () => {
    await using db = createDatabase({ url: database.url });
    await db.query("create table other_jobs (id integer)");
    await db.query("create table other_ticks (id integer)");
    const { service } = await makeService({
      toml: plugins('name = "other_jobs"\nticks_table = "other_ticks"'),
      env: env(),
      jobs: { a: () => undefined },
      schedules: { often: { everySeconds: 1, task: "a" } },
    });
    const message = await service.start().catch(String);
    expect(message)
      .to.match(/plugin\.queue\.name: names a table with an unexpected structure: .*task/)
      .and.to.match(/plugin\.queue\.ticks_table: names a table with an unexpected structure: .*fire_at/);
    expect(await service.stop()).to.equal(0);
  });

  it("CFG-12 refuses to start when two plugins, or two parts of a plugin, name the same table", async () => {
    const refused = async (toml: string): Promise<string> => {
      const { service } = await makeService({
        toml: plugins(toml, '"database", "queue", "events"'),
        env: env(),
        jobs: { a: () => undefined },
        schedules: { often: { everySeconds: 1, task: "a" } },
      });
      const message = await service.start().catch(String);
      expect(await service.stop()).to.equal(0);
      return String(message);
    };
    const separate = "use a separate table for each of them";
    expect(await refused('name = "one_table"\nticks_table = "one_table"')).to.match(
      new RegExp(
        `\\(1 fault\\):\n  - plugin\\.queue\\.ticks_table: names the same table as plugin\\.queue\\.name; ${separate}`,
      ),
    );
    expect(await refused('name = "shared_table"\n[plugin.events]\ninbox_table = "shared_table"')).to.contain(
      `plugin.events.inbox_table: names the same table as plugin.queue.name; ${separate}`,
    );
  });

  it("JOB-32 shows the page only outside prod: in local to every caller, elsewhere to admins", async () => {
    const guarded = (toml: string, more = {}): Promise<TestService> =>
      startService({
        toml: `${toml}${plugins("", '"database", "queue", "auth"')}[plugin.auth]\nmode = "secret"\nalgorithms = ["HS256"]\naudience = ["test"]\n`,
        env: env({ SVC_AUTH_SECRET: secret }),
        ...more,
      });
    const status = async (test: TestService, token = "", path = "/queue/stats"): Promise<number> => {
      const asked = request(test.url).get(path);
      if (token !== "") await asked.set("Authorization", `Bearer ${token}`);
      return (await asked).status;
    };
    const admin = signToken({ roles: ["admin"], aud: "test" }, secret);
    const clerk = signToken({ roles: ["clerk"], aud: "test" }, secret);

    await using local = await guarded("");
    expect((await request(local.url).get("/queue/stats")).body).to.deep.equal({
      pending: 0,
      running: 0,
      dead: 0,
    });
    expect((await request(local.url).get("/queue")).type).to.equal("text/html");
    await using staging = await guarded('env = "staging"\ndrain_delay = 0\n');
    expect([await status(staging), await status(staging, clerk), await status(staging, admin)]).to.deep.equal(
      [401, 403, 200],
    );
    await using named = await guarded('env = "staging"\ndrain_delay = 0\n', {
      queue: { guard: (_req: unknown, _res: unknown, next: () => void) => next() },
    });
    expect(await status(named)).to.equal(200);
    await using prod = await guarded('env = "prod"\ndrain_delay = 0\n');
    expect([await status(prod, admin), await status(prod, admin, "/queue")]).to.deep.equal([404, 404]);
  });

  onBothMajors((express) => {
    it("JOB-32 serves its page at the path in the file, unless the application has a route for that path", async () => {
      await using test = await startService({
        app: express(),
        toml: plugins('page = "/jobs"', '"database", "queue"'),
        env: env(),
        routes: (app) => {
          app.get("/jobs", (_req, res) => void res.send("mine"));
          app.get("/queue", (_req, res) => void res.send("mine, too"));
        },
      });
      expect((await request(test.url).get("/jobs")).text).to.equal("mine");
      expect((await request(test.url).get("/queue")).text).to.equal("mine, too");
      expect((await request(test.url).get("/jobs/stats")).status).to.equal(200);
    });

    it("JOB-32 JOB-12 runs the guard of its page after the application's middleware, and retries dead jobs from the page", async () => {
      const operators = new WeakSet();
      await using test = await startService({
        app: express(),
        toml: plugins('name = "dead_jobs"', '"database", "queue"'),
        env: env(),
        middleware: [
          (req, _res, next) => {
            if (req.headers["x-operator"] === "ann") operators.add(req);
            next();
          },
        ],
        queue: {
          guard: (req, _res, next) => next(operators.has(req) ? undefined : notFoundError("nothing")),
        },
      });
      const { jobs } = test.service;
      await jobs?.enqueue({ id: "d", task: "mail.send" });
      const [job] = (await jobs?.claim()) ?? [];
      await jobs?.fail(job ?? expect.fail(), "the mail server is down", { dead: true });
      expect((await request(test.url).get("/queue")).status).to.equal(404);
      const page = await request(test.url).get("/queue").set("X-Operator", "ann");
      expect(page.text).to.contain("the mail server is down");
      expect(page.headers["content-security-policy"])
        .to.contain("default-src 'none'")
        .and.contain("style-src");
      const retried = await request(test.url)
        .post("/queue/retry")
        .set({ "X-Operator": "ann", Origin: test.url })
        .type("form")
        .send({ id: "d" });
      expect(retried.status).to.equal(303);
      expect(await statsOf(test)).to.deep.equal({ pending: 1, running: 0, dead: 0 });
      const [again] = (await jobs?.claim()) ?? [];
      expect(await jobs?.ack(again ?? expect.fail())).to.equal(true);
    });
  });

  it("runs no jobs with role server, and serves no application routes with role worker", async () => {
    const ran: Service["jobs"][] = [];
    const options = {
      toml: plugins('name = "role_jobs"'),
      env: env(),
      jobs: { note: (_payload: unknown, _job: unknown, { jobs }: Service) => void ran.push(jobs) },
      routes: (app: import("express").Express) =>
        void app.get("/mine", (_req, res) => void res.send("served")),
    };
    await using server = await startService({ ...options, role: "server" });
    await server.service.jobs?.enqueue({ task: "note", payload: "a" });
    expect((await request(server.url).get("/mine")).text).to.equal("served");
    expect(Object.keys((await report(server)).checks)).not.to.include("worker");

    await using worker = await startService({ ...options, role: "worker" });
    // A worker in the process that queues these jobs would claim them in their inserts.
    for (let n = 0; n < 10; n++) await server.service.jobs?.enqueue({ task: "note" });
    await until(
      async () => ran,
      (all) => all.length === 11,
    );
    expect(new Set(ran)).to.deep.equal(new Set([worker.service.jobs]));
    expect(worker.service.jobs).not.to.equal(server.service.jobs);
    await until(
      async () => (await request(worker.url).get("/ready")).status,
      (status) => status === 200,
    );
    for (const [path, status] of [
      ["/health", 200],
      ["/metrics", 200],
      ["/info", 200],
      ["/mine", 404],
      ["/queue", 404],
    ] as const) {
      expect((await request(worker.url).get(path)).status, path).to.equal(status);
    }
    await worker.line(({ message }) => message === "job done");
  });

  it("SCH-1 queues scheduled jobs, and lists the next ticks in /info and on its page", async () => {
    const { promise: done, resolve } = Promise.withResolvers<unknown>();
    const schedules = {
      often: { everySeconds: 1, task: "note", payload: { of: "often" } },
      nightly: { cron: "30 2 * * *", zone: "Europe/Berlin", task: "note" },
    };
    await using test = await startService({
      toml: plugins('name = "tick_jobs"\nticks_table = "ticks"'),
      env: env(),
      jobs: { note: resolve },
      schedules,
    });
    expect(await done)
      .to.include({ of: "often" })
      .and.to.have.property("scheduled_for");
    expect((await report(test)).checks["scheduler"]).to.include({ critical: false, healthy: true });
    const { plugins: listed } = (await request(test.url).get("/info")).body as {
      plugins: { name: string; schedules?: { name: string; at: string }[] }[];
    };
    const next = listed.find(({ name }) => name === "queue")?.schedules ?? [];
    expect(next.map(({ name }) => name)).to.deep.equal(["often", "nightly"]);
    expect(Date.parse(next[1]?.at ?? "")).to.be.above(Date.now());
    expect((await request(test.url).get("/queue")).text).to.contain("nightly");
    // A process with the role `server` shows schedules, but only workers run them.
    await using server = await startService({
      toml: plugins('name = "untold_jobs"\nticks_table = "untold_ticks"'),
      env: env(),
      role: "server",
      schedules,
    });
    expect((await request(server.url).get("/queue")).text).to.contain("nightly");
    expect(Object.keys((await report(server)).checks)).not.to.include("scheduler");
  });

  it("stops claiming immediately, and finishes running jobs before the database is closed", async () => {
    const order: string[] = [];
    const began = Promise.withResolvers<void>();
    const finish = Promise.withResolvers<void>();
    const test = await startService({
      toml: `drain_delay = 0.3\n${plugins('name = "stop_jobs"')}`,
      env: env(),
      jobs: {
        async slow(_payload, _job, service) {
          began.resolve();
          await finish.promise;
          await service.db?.query("select 1");
          order.push("finished");
        },
        late: () => void order.push("late"),
      },
    });
    test.service.onStop("close", () => void order.push("close"));
    await test.service.jobs?.enqueue({ task: "slow" });
    await began.promise;
    const stopped = test.service.stop();
    await test.service.jobs?.enqueue({ id: "late", task: "late" });
    await test.line(({ phase }) => phase === "work");
    expect(await statsOf(test)).to.deep.equal({ pending: 1, running: 1, dead: 0 });
    finish.resolve();
    expect(await stopped).to.equal(0);
    expect(order).to.deep.equal(["finished", "close"]);
  });

  it("JOB-11 releases running jobs at the time limit of a stop", async () => {
    const began = Promise.withResolvers<void>();
    const test = await startService({
      // A quarter of this time is reserved for releasing jobs; it must exceed an event-loop stall on a busy machine.
      toml: `shutdown_timeout = 10\n${plugins('name = "given_jobs"')}`,
      env: env(),
      jobs: {
        endless() {
          began.resolve();
          return new Promise(() => undefined);
        },
      },
    });
    await test.service.jobs?.enqueue({ task: "endless" });
    await began.promise;
    expect(await test.service.stop()).to.equal(0);
    expect(await test.line(({ message }) => message === "job released")).to.include({ task: "endless" });
    await using db = createDatabase({ url: database.url });
    const { rows } = await db.query("select status, attempts from given_jobs");
    expect(rows).to.deep.equal([{ status: "pending", attempts: 0 }]);
  });

  it("JOB-11 releases running jobs at a second signal, and exits with 1", async () => {
    await using child = await runChild(
      `import { startService } from "@svc/express";
      await startService({
        config: { toml: process.env.TOML },
        jobs: { endless: (_payload, _job, { log }) => new Promise(() => log.info({}, "began")) },
      }).then(({ jobs }) => jobs.enqueue({ task: "endless" }));`,
      { env: env({ TOML: `[service]\nname = "test"\nport = 0\n${plugins('name = "signal_jobs"')}` }) },
    );
    await child.line(({ message }) => message === "began");
    child.kill("SIGTERM");
    await child.line(({ phase }) => phase === "work");
    child.kill("SIGTERM");
    expect((await child.ended).code).to.equal(1);
    await using db = createDatabase({ url: database.url });
    const { rows } = await db.query("select status, attempts from signal_jobs");
    expect(rows).to.deep.equal([{ status: "pending", attempts: 0 }]);
  });

  it("uses a database passed in code instead of the plugin `database`, and leaves it open", async () => {
    await using db = createDatabase({ url: database.url });
    const { promise: done, resolve } = Promise.withResolvers<unknown>();
    {
      await using test = await startService({
        toml: '[plugins]\nenabled = ["queue"]\n[plugin.queue]\nname = "own_jobs"\n',
        env: {},
        db,
        jobs: { note: resolve },
      });
      await test.service.jobs?.enqueue({ task: "note", payload: 7 });
      expect(await done).to.equal(7);
    }
    expect((await db.query("select count(*)::int as n from own_jobs")).rows).to.deep.equal([{ n: 0 }]);
  });
});

describe("a service with misconfigured jobs", () => {
  const url = "postgres://127.0.0.1:1/x";
  const jobs = { a: () => undefined };

  async function refusal(options: Parameters<typeof makeService>[0]): Promise<string> {
    try {
      const { service } = await makeService({ env: { DATABASE_URL: url }, ...options });
      await service.stop();
    } catch (error) {
      return String(error);
    }
    return expect.fail("it started");
  }

  it("refuses to start with an error that names the setting", async () => {
    const on = plugins();
    expect(await refusal({ toml: plugins("nmae = 1") })).to.contain("plugin.queue.nmae: is unknown");
    expect(await refusal({ toml: plugins("", '"queue"') })).to.contain("plugins.enabled: contains queue");
    expect(await refusal({ toml: plugins('name = "a-b.c.d"') })).to.contain("plugin.queue.name: must be");
    expect(await refusal({ toml: plugins("visibility_timeout = 10\njob_timeout = 10") })).to.contain(
      "plugin.queue.job_timeout: must be less than visibility_timeout (10); it is 10",
    );
    const unused = await refusal({
      jobs,
      db: { query: () => Promise.reject(new Error()) },
      queue: { guard: () => undefined },
    });
    for (const option of ["jobs", "db", "queue"])
      expect(unused).to.contain(`${option}: has no effect without the plugin queue`);
    for (const page of ["/health", "/metrics"]) {
      const message = await refusal({ toml: plugins(`page = "${page}"`) });
      expect(message).to.contain(`plugin.queue.page: is ${page}, which the service itself serves`);
    }
    const lone = on.replace("[plugin.database]", "[plugin.database]\nmax = 1");
    expect(await refusal({ toml: lone, jobs })).to.contain("plugin.database.max: must be at least 2");
    const nightly = { cron: "30 2 * * *", task: "b" };
    expect(await refusal({ schedules: { nightly } })).to.contain(
      "schedules: has no effect without the plugin queue",
    );
    expect(await refusal({ toml: on, jobs, schedules: { nightly } })).to.contain(
      'schedules.nightly.task: "b" has no handler in jobs; expected one of a',
    );
    expect(
      await refusal({ toml: on, schedules: { nightly: { ...nightly, cron: "61 * * * *" } } }),
    ).to.contain("nightly");
    expect(await refusal({ toml: plugins('ticks_table = "a.b.c"'), schedules: { nightly } })).to.contain(
      "plugin.queue.ticks_table: must be",
    );
    expect(await refusal({ role: "worker" })).to.contain("role: worker has no work");
    expect(await refusal({ toml: on, role: "worker" })).to.contain("role: worker has no work");
    expect(await refusal({ toml: on, jobs: { a: 7 } as never })).to.contain("jobs.a: must be a function");
    // Entries of a Map and methods of a class would never be called.
    class Mails {
      send(): void {}
    }
    for (const wrong of [new Map([["a", jobs.a]]), [jobs.a], new Mails()]) {
      const message = await refusal({
        toml: on,
        jobs: wrong as never,
        subscribers: wrong as never,
        schedules: wrong as never,
      });
      for (const option of ["jobs", "subscribers", "schedules"]) {
        expect(message).to.contain(`${option}: must be a plain object`);
      }
    }
    expect(await refusal({ toml: on, queue: { gaurd: 1 } as never })).to.contain("gaurd: is unknown");
    expect(await refusal({ toml: on, jobs, role: "boss" as never })).to.contain("role: must be");
  });

  it("CFG-12 refuses to start with one error that lists all faults in tables, schedules and subscribers", async () => {
    const message = await refusal({
      toml: `${plugins('ticks_table = "a.b.c"', '"database", "queue", "events"')}
        [plugin.events]\noutbox = true\noutbox_table = "a.b.c"\ninbox_table = "d.e.f"\n`,
      jobs,
      subscribers: { "a b": { note: () => undefined } },
      schedules: {
        nightly: { cron: "61 * * * *", task: "b" },
        nothing: null as never,
      },
    });
    for (const fault of [
      "plugin.events.outbox_table: must be",
      "plugin.events.inbox_table: must be",
      'subscribers: "a b"',
      'schedules.nightly.task: "b" has no handler',
      "schedules.nightly.cron: ",
      "schedules.nothing: ",
    ]) {
      expect(message).to.contain(fault);
    }
    const noDatabase = await refusal({ toml: plugins("", '"queue", "events"'), role: "worker" });
    expect(noDatabase)
      .to.contain("plugins.enabled: contains queue")
      .and.to.contain("role: worker has no work");
  });

  it("PROF-5 refuses to start with jobs in the reduced profile, which has no queue worker", async () => {
    const reduced = { profile: "reduced", config: undefined, env: { SVC_APP_NAME: "small" } } as const;
    expect(await refusal({ ...reduced, jobs, role: "worker" }))
      .to.contain("role: is available only in the full profile")
      .and.to.contain("jobs: is available only in the full profile");
  });
});
