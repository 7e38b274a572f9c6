import { testDatabase } from "@svc/dev-services";
import { createJobTable, defineTasks } from "@svc/job-table";
import { createScheduler } from "@svc/scheduler";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import type { Pool } from "pg";
import { z } from "zod";
import { MINUTE_MS, NOON, openPool } from "./support/bench.ts";

describe("schedules of tasks with schemas", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "scheduler-tasks" });
  let pool: Pool;
  before(() => {
    pool = openPool(database.url);
  });
  after(() => pool.end());

  const tasks = defineTasks({
    "report.make": z.strictObject({ of: z.string(), scheduled_for: z.iso.datetime() }),
    closed: z.strictObject({}),
  });

  it("are refused at construction when their payload does not match, with the schedule and the path", async () => {
    const table = createJobTable({ db: pool, tasks });
    const schedules = {
      nightly: { cron: "@daily", task: "report.make", payload: { of: 7 } },
      // Its schema does not allow the member that every tick adds.
      never: { everySeconds: 60, task: "closed" },
    };
    const error = await rejection(() => createScheduler({ table, schedules: schedules as never }));
    expect(error).to.include({ code: "ERR_SVC_CONFIGURATION" });
    const text = "the payload does not match the schema of the task";
    expect((error as Error).message).to.equal(
      `createScheduler() is configured wrongly (2 faults):
  - schedules.nightly: ${text} report.make at payload.of
  - schedules.never: ${text} closed at payload`,
    );
  });

  it("queue jobs that match", async () => {
    const table = createJobTable({ db: pool, tasks });
    let nowMs = NOON;
    const scheduler = createScheduler({
      table,
      now: () => nowMs,
      schedules: { minutely: { everySeconds: 60, task: "report.make", payload: { of: "orders" } } },
    });
    await table.ensureSchema();
    await scheduler.ensureSchema();
    await scheduler.runDue();
    nowMs += MINUTE_MS;
    expect((await scheduler.runDue()).fired).to.have.length(1);
    expect((await table.claim()).map(({ payload }) => payload)).to.eql([
      { of: "orders", scheduled_for: "2026-01-05T12:01:00.000Z" },
    ]);
  });
});
