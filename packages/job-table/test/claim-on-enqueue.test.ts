import { currentContext } from "@svc/context";
import { testDatabase } from "@svc/dev-services";
import {
  createJobTable,
  createWorker,
  type Enqueued,
  type Job,
  type JobTable,
  type NewJob,
} from "@svc/job-table";
import type { Connectable, PooledConnection } from "@svc/sql";
import { collectingLogger, until } from "@svc/test-support";
import { expect } from "chai";
import { AsyncLocalStorage } from "node:async_hooks";
import type { Pool } from "pg";
import { type Bench, openBench, openClient, openPool, waiting } from "./support/bench.ts";
import { gate, work, type Working } from "./support/working.ts";

const INSERT = /^insert into /;
const GIVEN_BACK = /^update [^]* attempts = 0\b/;

interface Watched {
  /** The kinds of the inserts sent so far. */
  readonly inserts: ("claimed" | "queued")[];
  /** The number of inserts sent on a worker's own connection. */
  prepared: number;
  /**
   * Called with each writing statement before its response is delivered; `prepared`: sent on a worker's own connection.
   */
  after: (text: string, prepared: boolean) => Promise<void>;
  readonly bench: Bench;
}

/** Wraps the bench's pool so that its statements are recorded. */
function watch(bench: Bench): Watched {
  const self: Watched = {
    inserts: [],
    prepared: 0,
    after: () => Promise.resolve(),
    bench: { ...bench, table: createJobTable({ db: watchedPool(bench.pool), name: bench.table.name }) },
  };
  function watchedPool(pool: Pool): Connectable {
    return {
      async connect() {
        const client = await pool.connect();
        const query = async (given: string | { readonly text: string }, values?: never): Promise<unknown> => {
          const answer: unknown = await client.query(given as never, values as never);
          const text = typeof given === "string" ? given : given.text;
          if (INSERT.test(text)) {
            if (typeof given !== "string") self.prepared += 1;
            self.inserts.push(text.includes("'running'") ? "claimed" : "queued");
          }
          if (INSERT.test(text) || GIVEN_BACK.test(text)) await self.after(text, typeof given !== "string");
          return answer;
        };
        return new Proxy(client, {
          get(target, key) {
            if (key === "query") return query;
            const value: unknown = Reflect.get(target, key);
            return typeof value === "function" ? (value.bind(target) as unknown) : value;
          },
        }) as PooledConnection;
      },
    };
  }
  return self;
}

/** Queues jobs until an insert claims one, which shows that the worker is idle. */
async function idle({ inserts, bench: { table } }: Watched, working: Working): Promise<void> {
  await until("it idles", async () => {
    await table.enqueue({ task: "a" });
    await working.reported("done", inserts.length);
    return inserts.at(-1) === "claimed";
  });
}

describe("a job queued while a worker in its process is idle", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-direct" });

  it("JOB-5 JOB-17 JOB-18 is claimed by the statement that queues it, and starts in its own context", async () => {
    await using bench = await openBench(database.url);
    const watched = watch(bench);
    const { table } = watched.bench;
    const around = new AsyncLocalStorage<string>();
    const order: string[] = [];
    let seen: unknown[] = [];
    await using working = work(watched.bench, {
      handlers: {
        a: () => undefined,
        async b(payload, job) {
          order.push("handler");
          const { requestId, tenantId } = currentContext() ?? {};
          seen = [payload, job.attempts, requestId, tenantId, around.getStore()];
          const [row] = await bench.rows();
          seen.push(row?.status, row?.attempts, row?.payload, row?.max_attempts);
          seen.push(
            Math.round(((row?.locked_until?.getTime() ?? 0) - (row?.available_at.getTime() ?? 0)) / 1000),
          );
        },
      },
    });
    await idle(watched, working);
    await using other = await openClient(database.url);
    const heard: unknown[] = [];
    other.on("notification", (message) => heard.push(message));
    await other.query(`listen "svc_job:${table.name}"`);
    const job = { task: "b", payload: { n: [1] }, requestId: "r-1", tenantId: "acme", maxAttempts: 7 };
    await until("it was claimed immediately", async () => {
      order.length = heard.length = 0;
      const { id, enqueued } = await around.run("caller", () => table.enqueue(job));
      order.push("caller");
      expect(enqueued).to.equal(true);
      await working.reported("done", watched.inserts.length);
      expect(working.ids("done").at(-1)).to.equal(id);
      expect(working.ids("claimed")).to.include(id);
      await other.query("select 1");
      return watched.inserts.at(-1) === "claimed";
    });
    expect(order).to.deep.equal(["caller", "handler"]);
    expect(seen).to.deep.equal([{ n: [1] }, 1, "r-1", "acme", undefined, "running", 1, { n: [1] }, 7, 300]);
    expect(heard).to.deep.equal([]);
    expect(watched.prepared, "over the connection of the worker").to.be.greaterThan(0);
    expect(await bench.rows()).to.deep.equal([]);
  });

  it("JOB-3 JOB-10 is queued normally when it has an id, a due time, a transaction or no handler", async () => {
    await using bench = await openBench(database.url);
    const watched = watch(bench);
    const { table } = watched.bench;
    await using working = work(watched.bench, { handlers: { a: () => undefined } });
    await idle(watched, working);
    const others: readonly NewJob[] = [
      { task: "a", id: "own" },
      { task: "a", delaySeconds: 3600 },
      { task: "a", availableAt: new Date(0) },
      { task: "unknown" },
    ];
    for (const job of others) {
      await table.enqueue(job);
      expect(watched.inserts.at(-1), JSON.stringify(job)).to.equal("queued");
    }
    await working.reported("dead");
    await using other = await openClient(database.url);
    await other.query("begin");
    const { id } = await table.enqueue({ task: "a" }, { tx: other });
    await other.query("rollback");
    await using client = await openClient(database.url);
    const single = createJobTable({ db: client, name: table.name });
    await using onSingle = work({ ...bench, table: single }, { handlers: { a: () => undefined } });
    await single.enqueue({ task: "a", requestId: "single" });
    const ended = (): string[] => [...working.ids("done"), ...onSingle.ids("done")];
    await until("all are done", () => ended().length === watched.inserts.length - 1);
    expect(ended()).not.to.include(id);
  });

  it("JOB-23 is queued normally when every slot is taken, and with claimOnEnqueue: false", async () => {
    await using bench = await openBench(database.url);
    const watched = watch(bench);
    const { table } = watched.bench;
    const { opened, open } = gate();
    await using working = work(watched.bench, {
      concurrency: 2,
      prefetch: 8,
      handlers: { a: () => undefined, waits: () => opened },
    });
    await idle(watched, working);
    for (let running = 1; running <= 2; running++) {
      await table.enqueue({ task: "waits" });
      await until("it runs", () => working.worker.running === running);
    }
    await table.enqueue({ task: "waits" });
    expect(watched.inserts.at(-1)).to.equal("queued");
    open();
    await working.reported("done", watched.inserts.length);
    await working.worker.stop();
    await table.enqueue({ task: "a" });
    expect(watched.inserts.at(-1), "after its stop").to.equal("queued");
    await using modest = work(watched.bench, { claimOnEnqueue: false, handlers: { a: () => undefined } });
    for (let n = 1; n <= 5; n++) {
      await table.enqueue({ task: "a" });
      await modest.reported("done", n + 1);
    }
    await modest.worker.stop();
    expect(watched.inserts.slice(-5)).to.deep.equal(Array.from({ length: 5 }, () => "queued"));
  });

  it("JOB-4 does not delay jobs from other processes, regardless of the number of jobs that this process queues", async () => {
    await using bench = await openBench(database.url, { notify: false });
    const watched = watch(bench);
    const { table } = watched.bench;
    await using working = work(watched.bench, {
      concurrency: 1,
      listen: false,
      handlers: { a: () => undefined },
    });
    await idle(watched, working);
    await using other = await openClient(database.url);
    await other.query(`insert into ${table.name} (id, task) values ('theirs', 'a')`);
    await until("it is done", async () => {
      await table.enqueue({ task: "a" });
      return working.ids("done").includes("theirs");
    });
  });

  for (const lanes of [1, 2]) {
    const over = lanes === 1 ? "the connection of the worker" : "connections of the pool";
    it(`is released when the response to the insert that claimed it is lost, on ${over}`, async () => {
      await using bench = await openBench(database.url);
      const watched = watch(bench);
      const { table } = watched.bench;
      await using working = work(watched.bench, { handlers: { a: () => undefined } });
      await idle(watched, working);
      let failed = 0;
      watched.after = (_text, prepared) => {
        // Fail only inserts on the worker's connection: a single insert uses the pool while that connection is busy.
        if (watched.inserts.at(-1) !== "claimed" || (lanes === 1 && !prepared)) return Promise.resolve();
        failed += 1;
        return Promise.reject(new Error("the connection broke"));
      };
      const ids = new Set<string>();
      let rejected = 0;
      await until("it was claimed immediately", async () => {
        const queued = Array.from({ length: lanes }, () => table.enqueue({ task: "a" }));
        for (const each of await Promise.allSettled(queued)) {
          if (each.status === "rejected") rejected += 1;
          else {
            expect(each.value.enqueued).to.equal(true);
            ids.add(each.value.id);
          }
        }
        return lanes === 1 ? failed > 0 : rejected > 0;
      });
      watched.after = () => Promise.resolve();
      // If an insert fails on the worker's connection, enqueue() retries on another connection; otherwise it rejects.
      expect(rejected > 0).to.equal(lanes === 2);
      // A job that was not released would stay leased for five minutes.
      await until("all are deleted", async () => (await bench.rows()).length === 0);
      const done = working.ids("done");
      expect([...ids].every((id) => done.filter((each) => each === id).length === 1)).to.equal(true);
      expect(new Set(done).size).to.equal(done.length);
      expect(working.events.some(({ type }) => type === "lease_lost")).to.equal(false);
    });
  }

  it("is released when the response arrives after the slot reservation expired", async () => {
    await using bench = await openBench(database.url);
    const watched = watch(bench);
    const { table } = watched.bench;
    await using working = work(watched.bench, {
      concurrency: 2,
      // The timeout exceeds any event-loop stall, because a claim that times out would hold its job for five minutes.
      commandTimeoutMs: 2000,
      handlers: { a: () => undefined },
    });
    await idle(watched, working);
    const { opened, open } = gate();
    watched.after = () => opened;
    const before = watched.inserts.length;
    const { prepared } = watched;
    const release = table.release.bind(table);
    let released = 0;
    table.release = async (lease) => {
      const held = await release(lease);
      released += 1;
      return held;
    };
    const queued = [1, 2, 3].map(() => table.enqueue({ task: "a" }));
    await until("they are there", () => watched.inserts.length >= before + 3);
    await new Promise((resolve) => setTimeout(resolve, 2100));
    watched.after = () => Promise.resolve();
    open();
    expect((await Promise.all(queued)).every(({ enqueued }) => enqueued)).to.equal(true);
    const claimed = watched.inserts.slice(before).filter((each) => each === "claimed").length;
    // The insert on the worker's connection timed out, and the repeated insert has released its job.
    expect(released, "when enqueue() answers").to.equal(claimed - (watched.prepared - prepared));
    await until("all are deleted", async () => (await bench.rows()).length === 0);
    expect(new Set(working.ids("done")).size).to.equal(working.ids("done").length);
    expect(working.worker.running).to.equal(0);
  });

  /** Queues jobs until an insert claims one, and delays its response until `open` is called. */
  async function hold(watched: Watched): Promise<{ readonly queued: Promise<Enqueued>; open: () => void }> {
    const { inserts, bench } = watched;
    const { opened, open } = gate();
    watched.after = () => (inserts.at(-1) === "claimed" ? opened : Promise.resolve());
    for (;;) {
      const before = inserts.length;
      const queued = bench.table.enqueue({ task: "a" });
      await until("it is there", () => inserts.length > before);
      if (inserts.at(-1) === "claimed") return { queued, open };
      await queued;
      await until("it is done", async () => (await bench.rows()).length === 0);
    }
  }

  async function expectGivenBack(bench: Bench, id: string): Promise<void> {
    await until("it is given back", async () => (await bench.rows())[0]?.status === "pending");
    expect(await bench.rows()).to.have.lengthOf(1);
    expect((await bench.rows())[0]).to.deep.include({ id, attempts: 0, locked_until: null });
  }

  for (const drainSeconds of [5, 0]) {
    const when = drainSeconds === 0 ? "after the worker has stopped" : "while the worker stops";
    it(`JOB-11 is released without counting the attempt when the response arrives ${when}`, async () => {
      await using bench = await openBench(database.url);
      const watched = watch(bench);
      const working = work(watched.bench, { drainSeconds, pollMs: 1000, handlers: { a: () => undefined } });
      await idle(watched, working);
      const { queued, open } = await hold(watched);
      const stopped = working.worker.stop();
      if (drainSeconds === 0) await stopped;
      open();
      await stopped;
      const { id, enqueued } = await queued;
      expect(enqueued).to.equal(true);
      await expectGivenBack(bench, id);
    });

    it(`JOB-11 is released when enqueue() stops waiting for the response ${when}`, async () => {
      await using bench = await openBench(database.url);
      const watched = watch(bench);
      const working = work(watched.bench, {
        drainSeconds,
        // The timeout exceeds any event-loop stall between the claim and the stop.
        commandTimeoutMs: 2500,
        handlers: { a: () => undefined },
      });
      await idle(watched, working);
      const { queued, open } = await hold(watched);
      const stopped = working.worker.stop();
      // The statement on the worker's connection times out; enqueue() then finds the job over another connection.
      const { id, enqueued } = await queued;
      await stopped;
      expect(enqueued).to.equal(true);
      await expectGivenBack(bench, id);
      open();
    });
  }

  it("JOB-11 is released when the worker closes its connection while the statement runs", async () => {
    await using bench = await openBench(database.url);
    const watched = watch(bench);
    await using other = await openClient(database.url);
    const working = work(watched.bench, { drainSeconds: 0, handlers: { a: () => undefined } });
    await idle(watched, working);
    const { name } = bench.table;
    await other.query(`create function ${name}_held() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock_shared(2); return null; end $$;
      create trigger held after insert on ${name} for each row when (new.status = 'running') execute function ${name}_held()`);
    await other.query("select pg_advisory_lock(2)");
    let id = "";
    await until("it was claimed immediately", async () => {
      let isAnswered = false;
      const queued = watched.bench.table.enqueue({ task: "a" }).finally(() => (isAnswered = true));
      await until("it is under way or queued", async () => isAnswered || (await waiting(other)) === 1);
      const isHeld = !isAnswered;
      if (isHeld) {
        await working.worker.stop();
        await other.query("select pg_advisory_unlock(2)");
      }
      ({ id } = await queued);
      return isHeld;
    });
    await bench.pool.query(`delete from ${name} where id <> $1`, [id]);
    await expectGivenBack(bench, id);
  });

  it("JOB-11 is pending as soon as enqueue() resolves, whether the stopping worker's statement succeeded or not", async () => {
    await using bench = await openBench(database.url);
    const pool = openPool(database.url);
    const watched = watch({ ...bench, pool });
    const { inserts, bench: own } = watched;
    const working = work(own, { drainSeconds: 0, pollMs: 1000, handlers: { a: () => undefined } });
    await idle(watched, working);
    let held = gate();
    let queued: Promise<Enqueued>[] = [];
    await until("both were claimed", async () => {
      const before = inserts.length;
      held = gate();
      let claimed = 0;
      watched.after = async (_text, prepared) => {
        if (inserts.at(-1) !== "claimed") return;
        claimed += 1;
        await held.opened;
        if (prepared) throw new Error("the connection broke");
      };
      queued = [1, 2].map(() => own.table.enqueue({ task: "a" }));
      await until("they are there", () => inserts.length >= before + 2);
      if (claimed === 2) return true;
      held.open();
      await Promise.all(queued);
      await until("they are done", async () => (await bench.rows()).length === 0);
      return false;
    });
    await working.worker.stop();
    held.open();
    const answers = await Promise.all(queued);
    // The pool is closed, so nothing can be released after this.
    await pool.end();
    expect(answers.every(({ enqueued }) => enqueued)).to.equal(true);
    const rows = await bench.rows();
    expect(rows.map(({ id }) => id)).to.have.members(answers.map(({ id }) => id));
    for (const row of rows)
      expect(row).to.deep.include({ status: "pending", attempts: 0, locked_until: null });
  });

  it("JOB-23 is queued normally while the database does not accept earlier completions", async () => {
    await using bench = await openBench(database.url);
    const watched = watch(bench);
    await using other = await openClient(database.url);
    const { name } = bench.table;
    await other.query(`create function ${name}_held() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock_shared(1); return old; end $$;
      create trigger held before delete on ${name} for each row execute function ${name}_held()`);
    await using working = work(watched.bench, {
      concurrency: 1,
      pollMs: 1000,
      handlers: { a: () => undefined },
    });
    const claimedOfTwenty = async (): Promise<number> => {
      await idle(watched, working);
      await other.query("select pg_advisory_lock(1)");
      const before = watched.inserts.length;
      for (let n = 0; n < 20; n++) {
        await watched.bench.table.enqueue({ task: "a" });
        await new Promise((resolve) => void setImmediate(resolve));
      }
      await other.query("select pg_advisory_unlock(1)");
      const claimed = watched.inserts.slice(before).filter((each) => each === "claimed");
      await working.reported("done", watched.inserts.length);
      return claimed.length;
    };
    // Repeat, because no insert claims a job if the first job arrives during the worker's own claim.
    const claimed = await until(
      "one was claimed immediately",
      async () => (await claimedOfTwenty()) || false,
    );
    // Inserts stop claiming once two outcomes per slot wait to be written, besides those being written.
    expect(claimed).to.be.within(1, 6);
  });

  it("JOB-21 is not released a second time when another worker claimed it after the first release", async () => {
    await using bench = await openBench(database.url);
    const watched = watch(bench);
    const around = new AsyncLocalStorage<string>();
    const stores: unknown[] = [];
    await using working = work(watched.bench, {
      pollMs: 1000,
      handlers: { a: () => undefined },
      logger: { ...collectingLogger(), error: () => void stores.push(around.getStore()) },
    });
    await idle(watched, working);
    const claimed: Job[] = [];
    let isLost = false;
    let given = 0;
    watched.after = async (text, prepared) => {
      if (GIVEN_BACK.test(text)) {
        given += 1;
        if (given > 1) return;
        claimed.push(...(await bench.table.claim(1)));
      } else {
        if (isLost || prepared || watched.inserts.at(-1) === "queued") return;
        isLost = true;
      }
      throw new Error("the connection broke");
    };
    // Repeat, because the polling worker may claim the released job first.
    await until("another worker claimed it", async () => {
      isLost = false;
      given = 0;
      await until("one was claimed immediately over the pool", async () => {
        // The second call finds the worker's connection busy, and uses the pool.
        const both = [1, 2].map(() => around.run("caller", () => watched.bench.table.enqueue({ task: "a" })));
        await Promise.allSettled(both);
        return isLost;
      });
      await until("it was given back twice", () => given === 2);
      return claimed.length > 0;
    });
    expect(claimed.map(({ attempts }) => attempts)).to.deep.equal([1]);
    for (const job of claimed) expect(await bench.table.ack(job)).to.equal(true);
    expect(new Set(stores), "the worker's events have no caller's context").to.deep.equal(
      new Set([undefined]),
    );
  });

  it("is released when its response is lost up to 30 event-loop turns after another lost job was released", async () => {
    const lateBy = Array.from({ length: 30 }, (_, turns) => turns);
    const given = await Promise.all(lateBy.map((turns) => loseTwo(turns)));
    expect(given).to.deep.equal(lateBy.map(() => 2));
  });

  /**
   * Loses the response for a job, and the response for a second job `turns` event-loop turns after the first job was
   * released. Returns the number of released jobs.
   */
  async function loseTwo(turns: number): Promise<number> {
    const given = new Set<unknown>();
    const claims: PromiseWithResolvers<never>[] = [];
    const answer = gate();
    const rows: never[] = [];
    async function query(text: string, values?: readonly unknown[]): Promise<{ rows: never[] }> {
      if (GIVEN_BACK.test(text)) {
        for (const id of (values?.[0] ?? []) as readonly string[]) given.add(id);
        if (given.size === 1) await answer.opened;
      } else if (INSERT.test(text) && text.includes("'running'")) {
        const insert = Promise.withResolvers<never>();
        claims.push(insert);
        return insert.promise;
      }
      return { rows };
    }
    const db = { connect: () => Promise.resolve({ query, release: () => undefined }) } as Connectable;
    const table = createJobTable({ db, name: "lost" });
    const worker = createWorker({ table, handlers: { a: () => undefined }, listen: false, drainSeconds: 0 });
    worker.start();
    const lose = (): void => void table.enqueue({ task: "a" }).catch(() => undefined);
    for (const count of [1, 2]) {
      await until("it is claimed", () => {
        if (claims.length < count) lose();
        return claims.length >= count;
      });
      if (count === 2) break;
      claims[0]?.reject(new Error("the connection broke"));
      await until("it is being given back", () => given.size === 1);
    }
    answer.open();
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    claims[1]?.reject(new Error("the connection broke"));
    await until("both were given back", () => given.size === 2).catch(() => undefined);
    await worker.stop();
    return given.size;
  }

  it("JOB-4 runs once when 400 such jobs are queued, ten at a time, for two workers", async () => {
    await using bench = await openBench(database.url);
    const watched = watch(bench);
    const tables: JobTable[] = [
      watched.bench.table,
      createJobTable({ db: bench.pool, name: bench.table.name }),
    ];
    const runs = new Map<string, number>();
    const a = (_payload: unknown, { id }: { readonly id: string }): void =>
      void runs.set(id, (runs.get(id) ?? 0) + 1);
    await using one = work(watched.bench, { concurrency: 3, handlers: { a } });
    // Do this before the second worker starts, which would claim the jobs that show whether this worker is idle.
    await idle(watched, one);
    await using two = work(bench, { concurrency: 2, handlers: { a } });
    const ids: string[] = [];
    const lane = async (at: number): Promise<void> => {
      for (let n = 0; n < 40; n++) {
        const { id } = (await tables[(at + n) % 2]?.enqueue({ task: "a" })) ?? {};
        if (id !== undefined) ids.push(id);
        if (n % 8 === 0) await new Promise((resolve) => setTimeout(resolve, 5));
      }
    };
    await Promise.all(Array.from({ length: 10 }, (_, at) => lane(at)));
    await until("all are done", async () => (await bench.rows()).length === 0);
    expect(ids).to.have.lengthOf(400);
    expect(ids.every((id) => runs.get(id) === 1)).to.equal(true);
    expect(watched.inserts).to.include.members(["claimed", "queued"]);
    expect(two.events.some(({ type }) => type === "fault")).to.equal(false);
  });
});
