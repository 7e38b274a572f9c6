import { testDatabase } from "@svc/dev-services";
import { runWithContext, RequestContext } from "@svc/context";
import { createJobTable } from "@svc/job-table";
import { jobIdOf, type SchedulerEvent } from "@svc/scheduler";
import { createHash } from "node:crypto";
import { expect } from "chai";
import { type Bench, MINUTE_MS, minutes, NOON, openBench } from "./support/bench.ts";
import { boundaryOf } from "./support/boundaries.ts";

const everyMinute = { everySeconds: 60, task: "beat" } as const;

describe("a scheduler", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "scheduler" });
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench(database.url);
  });
  afterEach(() => bench[Symbol.asyncDispose]());

  it("SCH-4 starts a new schedule with its next tick, whose job has the tick's id and the scheduled payload", async () => {
    const scheduler = bench.scheduler({
      schedules: { beat: { ...everyMinute, payload: { of: "mine" }, maxAttempts: 7 } },
    });
    expect(await scheduler.runDue()).to.deep.equal({ fired: [], failed: [] });
    bench.nowMs += MINUTE_MS + 250;
    const id = createHash("sha256").update("beat@2026-01-05T12:01:00.000Z").digest("hex").slice(0, 32);
    expect(jobIdOf("beat", "2026-01-05T12:01:00.000Z")).to.equal(id);
    const { fired } = await scheduler.runDue();
    expect(fired).to.deep.equal([
      { name: "beat", task: "beat", at: "2026-01-05T12:01:00.000Z", jobId: id, enqueued: true, lateMs: 250 },
    ]);
    expect(await scheduler.runDue()).to.deep.equal({ fired: [], failed: [] });
    const [job, ...more] = await bench.jobs();
    expect(more).to.deep.equal([]);
    expect(job).to.deep.include({
      id,
      task: "beat",
      payload: { of: "mine", scheduled_for: "2026-01-05T12:01:00.000Z" },
      max_attempts: 7,
      request_id: id,
      tenant_id: null,
      trace: null,
      status: "pending",
    });
    const [claim] = await bench.claims();
    expect(claim?.fire_at.toISOString()).to.equal("2026-01-05T12:01:00.000Z");
    expect(claim?.claimed_by).to.match(new RegExp(`:${process.pid}$`));
    expect(Math.abs(Date.now() - (claim?.claimed_at.getTime() ?? 0))).to.be.below(MINUTE_MS);
  });

  it("queues jobs without the context of the request in which it runs", async () => {
    const scheduler = bench.scheduler({ schedules: { beat: everyMinute } });
    await scheduler.runDue();
    bench.nowMs += MINUTE_MS;
    const context = new RequestContext({ requestId: "r-1" });
    context.tenantId = "acme";
    await runWithContext(context, () => scheduler.runDue());
    const [job] = await bench.jobs();
    expect([job?.request_id, job?.tenant_id]).to.deep.equal([job?.id, null]);
  });

  it("SCH-5 runs the newest missed tick once after downtime, even in a new process", async () => {
    await bench.scheduler({ schedules: { beat: everyMinute } }).runDue();
    bench.nowMs += 10 * MINUTE_MS + 30_000;
    const later = bench.scheduler({ schedules: { beat: everyMinute } });
    expect(minutes((await later.runDue()).fired)).to.deep.equal([10]);
    expect(minutes((await later.runDue()).fired)).to.deep.equal([]);
    bench.nowMs += 30_000;
    expect(minutes((await later.runDue()).fired)).to.deep.equal([11]);
    expect(await bench.jobs()).to.have.lengthOf(2);
  });

  it("SCH-5 skips missed ticks with catchUp: false, and runs the next tick", async () => {
    const events: SchedulerEvent[] = [];
    const options = { schedules: { beat: { ...everyMinute, catchUp: false } } };
    await bench.scheduler(options).runDue();
    bench.nowMs += 10 * MINUTE_MS + 30_000;
    const later = bench.scheduler({ ...options, onEvent: (event) => events.push(event) });
    expect((await later.runDue()).fired).to.deep.equal([]);
    expect((await later.runDue()).fired).to.deep.equal([]);
    expect(events).to.deep.equal([{ type: "skipped", name: "beat", at: "2026-01-05T12:10:00.000Z" }]);
    bench.nowMs += 30_000 + 14_000;
    // The tick is 14 s late, which is less than the 15 s after which it counts as missed.
    expect(minutes((await later.runDue()).fired)).to.deep.equal([11]);
  });

  it("SCH-2 counts intervals from the Unix epoch, independent of the start of the process", async () => {
    bench.nowMs = Date.parse("2026-01-05T12:00:05.500Z");
    const schedules = { odd: { everySeconds: 7, task: "beat" } };
    const [next] = bench.scheduler({ schedules }).nextTicks();
    bench.nowMs += 3000;
    const [later] = bench.scheduler({ schedules }).nextTicks();
    const first = Date.parse(next?.at ?? "");
    const second = Date.parse(later?.at ?? "");
    expect([first % 7000, second % 7000, first > NOON]).to.deep.equal([0, 0, true]);
    expect(second - first).to.be.oneOf([0, 7000]);
  });

  it("SCH-1 SCH-4 queues 39 jobs for 39 ticks with two concurrent schedulers, and workers that delete jobs immediately", async () => {
    const two = [0, 1].map(() => bench.scheduler({ schedules: { beat: everyMinute } }));
    const done: string[] = [];
    const fired: number[][] = [];
    for (let pass = 0; pass < 40; pass++) {
      const passes = await Promise.all(two.map((scheduler) => scheduler.runDue()));
      fired.push(passes.flatMap((each) => minutes(each.fired)));
      for (const job of await bench.table.claim(10)) {
        done.push(String((job.payload as { scheduled_for: string }).scheduled_for));
        await bench.table.ack(job);
      }
      // Another pass finds nothing, although the job is gone.
      expect(
        (await Promise.all(two.map((each) => each.runDue()))).flatMap((each) => each.fired),
      ).to.deep.equal([]);
      bench.nowMs += MINUTE_MS;
    }
    expect(fired).to.deep.equal([[], ...Array.from({ length: 39 }, (_, index) => [index + 1])]);
    expect(new Set(done).size).to.equal(39);
    expect(done).to.have.lengthOf(39);
    expect(await bench.claims()).to.have.lengthOf(39);
  });

  it("SCH-1 claims no tick twice when a process's clock is an hour wrong", async () => {
    const right = bench.scheduler({ schedules: { beat: everyMinute } });
    const slow = bench.scheduler({
      schedules: { beat: everyMinute },
      now: () => bench.nowMs - 60 * MINUTE_MS,
    });
    const fast = bench.scheduler({
      schedules: { beat: everyMinute },
      now: () => bench.nowMs + 60 * MINUTE_MS,
    });
    const at: number[] = [];
    const step = async (...schedulers: (typeof right)[]): Promise<void> => {
      for (const each of schedulers) at.push(...minutes((await each.runDue()).fired));
      for (const job of await bench.table.claim(10)) await bench.table.ack(job);
      bench.nowMs += MINUTE_MS;
    };
    for (let pass = 0; pass < 5; pass++) await step(right, slow);
    expect(at).to.deep.equal([1, 2, 3, 4]);
    // A process whose clock is ahead claims future ticks; the others find none due until then.
    for (let pass = 0; pass < 5; pass++) await step(right, slow, fast);
    expect(at.slice(4)).to.deep.equal([5, 65, 66, 67, 68, 69]);
    for (let pass = 0; pass < 60; pass++) await step(right);
    expect(at.slice(10)).to.deep.equal([]);
    await step(right);
    expect(at.slice(10)).to.deep.equal([70]);
    expect(await bench.claims()).to.have.lengthOf(at.length);
  });

  it("SCH-1 uses the database's clock by default, even if the process's clock differs", async () => {
    const scheduler = bench.scheduler({
      schedules: { beat: { everySeconds: 1, task: "beat" } },
      now: undefined,
    });
    const { now } = Date;
    Date.now = () => now() + 60 * MINUTE_MS;
    try {
      await scheduler.runDue();
      await bench.pool.query(`update ${bench.ticks} set fire_at = fire_at - interval '2 hours'`);
      const { fired } = await scheduler.runDue();
      expect(fired).to.have.lengthOf(1);
      expect(Math.abs(now() - Date.parse(fired[0]?.at ?? ""))).to.be.below(MINUTE_MS);
      expect(Math.abs(now() - Date.parse(scheduler.nextTicks()[0]?.at ?? ""))).to.be.below(MINUTE_MS);
    } finally {
      Date.now = now;
    }
  });

  it("deletes old ticks once an hour, and keeps the newest tick of each schedule, even of removed schedules", async () => {
    const schedules = { beat: everyMinute };
    await bench.pool.query(
      `insert into ${bench.ticks} (name, fire_at, claimed_by)
       select name, $1::timestamptz - n * interval '1 day', 'x'
       from unnest(array['beat', 'gone']) as name, generate_series(5, 12) as n`,
      [new Date(bench.nowMs).toISOString()],
    );
    const names = async (): Promise<string> =>
      (await bench.claims())
        .map(({ name, fire_at }) => `${name} ${(NOON - fire_at.getTime()) / 86_400_000}`)
        .join();
    await bench.pool.query(`delete from ${bench.ticks} where name = 'gone' and fire_at > $1`, [
      new Date(NOON - 8.5 * 86_400_000),
    ]);
    const scheduler = bench.scheduler({ schedules });
    await scheduler.runDue();
    expect(await names()).to.equal("gone 9,beat 7,beat 6,beat 5,beat 0");
    bench.nowMs += 59 * MINUTE_MS;
    await scheduler.runDue();
    expect(await names()).to.include("beat 7");
    bench.nowMs += MINUTE_MS;
    await scheduler.runDue();
    expect(await names()).not.to.include("beat 7");
    expect(await names())
      .to.include("beat 6")
      .and.include("gone 9");
  });

  it("does not let a process whose clock is behind claim a tick that was already claimed and pruned", async () => {
    const schedules = { beat: everyMinute };
    const scheduler = bench.scheduler({ schedules });
    await scheduler.runDue();
    bench.nowMs += MINUTE_MS;
    await scheduler.runDue();
    const early = bench.scheduler({ schedules, now: () => NOON + MINUTE_MS });
    bench.nowMs += 9 * 86_400_000;
    await scheduler.runDue();
    await bench.pool.query(`delete from ${bench.table.name}`);
    await bench.pool.query(`delete from ${bench.ticks} where fire_at < $1`, [new Date(bench.nowMs)]);
    expect((await early.runDue()).fired).to.deep.equal([]);
    expect(await bench.jobs()).to.deep.equal([]);
  });

  it("SCH-1 SCH-4 does not let a stalled process claim the newest claimed tick again, or an older tick", async () => {
    const schedules = { beat: everyMinute };
    const others = bench.scheduler({ schedules });
    await others.runDue();
    let meanwhile: (() => Promise<unknown>) | undefined;
    const db = {
      async connect() {
        const client = await bench.pool.connect();
        return Object.assign(Object.create(client) as typeof client, {
          release: (error?: Error) => client.release(error),
          async query(text: string, values: unknown[]) {
            const answer = await client.query(text, values);
            if (boundaryOf(text) === "read") await meanwhile?.();
            return answer;
          },
        });
      },
    };
    const slow = bench.scheduler({ schedules, table: createJobTable({ db, name: bench.table.name }) });
    bench.nowMs += MINUTE_MS;
    const then = bench.nowMs;
    const late = bench.scheduler({
      schedules,
      table: createJobTable({ db, name: bench.table.name }),
      now: () => then,
    });
    // Between read and claim, another process fires the same tick, and its job is deleted.
    meanwhile = async () => {
      await others.runDue();
      await bench.pool.query(`delete from ${bench.table.name}`);
    };
    expect((await slow.runDue()).fired).to.deep.equal([]);
    // Between read and claim, another process fires a newer tick; no process has claimed the older one.
    meanwhile = async () => {
      bench.nowMs += MINUTE_MS;
      await others.runDue();
      await bench.pool.query(`delete from ${bench.ticks} where fire_at < $1`, [new Date(bench.nowMs)]);
      await bench.pool.query(`delete from ${bench.table.name}`);
    };
    await bench.pool.query(`delete from ${bench.ticks} where fire_at = $1`, [new Date(then)]);
    expect((await late.runDue()).fired).to.deep.equal([]);
    expect(await bench.jobs()).to.deep.equal([]);
    expect(await bench.claims()).to.have.lengthOf(1);
  });

  it("notifies listening workers when it queues the job of a tick", async () => {
    const scheduler = bench.scheduler({ schedules: { beat: everyMinute } });
    await scheduler.runDue();
    const client = await bench.pool.connect();
    const { promise: channel, resolve } = Promise.withResolvers<string>();
    client.on("notification", ({ channel }) => resolve(channel));
    await client.query(`listen "svc_job:${bench.table.name}"`);
    bench.nowMs += MINUTE_MS;
    await scheduler.runDue();
    expect(await channel).to.equal(`svc_job:${bench.table.name}`);
    client.release(true);
  });

  it("keeps an existing job with the same id, and claims the tick", async () => {
    const scheduler = bench.scheduler({ schedules: { beat: everyMinute } });
    await scheduler.runDue();
    bench.nowMs += MINUTE_MS;
    await bench.table.enqueue({ task: "other", id: jobIdOf("beat", new Date(bench.nowMs).toISOString()) });
    const { fired } = await scheduler.runDue();
    expect(fired.map(({ enqueued }) => enqueued)).to.deep.equal([false]);
    expect((await bench.jobs()).map(({ task }) => task)).to.deep.equal(["other"]);
    expect(await bench.claims()).to.have.lengthOf(1);
  });

  it("lists the next tick of every schedule, soonest first", () => {
    const scheduler = bench.scheduler({
      schedules: {
        nightly: { cron: "30 2 * * *", zone: "Europe/Berlin", task: "report" },
        beat: everyMinute,
        yearly: { cron: "@yearly", task: "party" },
      },
    });
    expect(scheduler.nextTicks()).to.deep.equal([
      { name: "beat", task: "beat", at: "2026-01-05T12:01:00.000Z" },
      { name: "nightly", task: "report", at: "2026-01-06T01:30:00.000Z" },
      { name: "yearly", task: "party", at: "2027-01-01T00:00:00.000Z" },
    ]);
  });
});
