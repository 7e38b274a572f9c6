import { createJobTable, defineTasks } from "@svc/job-table";
import { createScheduler, type Schedules } from "@svc/scheduler";
import { expect } from "chai";
import { Pool } from "pg";
import { z } from "zod";

interface Tasks {
  readonly "mail.sweep": { readonly olderThanDays?: number | undefined };
  readonly "report.make": { readonly of: string; readonly scheduled_for: string };
  readonly beat: Record<string, never>;
}

const db = new Pool();
const table = createJobTable({ db, tasks: defineTasks<Tasks>() });

/** Compiles the calls in a function without running them. */
function compiles(calls: () => unknown): void {
  expect(calls).to.be.a("function");
}

// The compiler is the test: it must accept this code, and reject each line after @ts-expect-error.
describe("the types of schedules", () => {
  it("accept the tasks of the table, whose payload needs no scheduled_for", () => {
    compiles(() =>
      createScheduler({
        table,
        schedules: {
          sweep: { everySeconds: 60, task: "mail.sweep", catchUp: false },
          old: { cron: "@daily", zone: "Europe/Berlin", task: "mail.sweep", payload: { olderThanDays: 7 } },
          report: { cron: "30 2 * * *", task: "report.make", payload: { of: "orders" }, maxAttempts: 5 },
          beat: { everySeconds: 1, task: "beat" },
        },
      }),
    );
  });

  it("reject an unknown task, a wrong payload and a schedule without a time", () => {
    const everySeconds = 60;
    compiles(() => [
      // @ts-expect-error -- the task is misspelled
      createScheduler({ table, schedules: { sweep: { everySeconds, task: "mail.swep" } } }),
      // @ts-expect-error -- `of` is required
      createScheduler({ table, schedules: { report: { everySeconds, task: "report.make" } } }),
      createScheduler({
        table,
        // @ts-expect-error -- the member has another type
        schedules: { report: { everySeconds, task: "report.make", payload: { of: 7 } } },
      }),
      // @ts-expect-error -- neither cron nor everySeconds
      createScheduler({ table, schedules: { beat: { task: "beat" } } }),
    ]);
  });

  it("check schedules that are defined in a separate constant", () => {
    const schedules = {
      report: { everySeconds: 60, task: "report.make", payload: { of: "orders" } },
    } as const satisfies Schedules<Tasks>;
    // @ts-expect-error -- the task is misspelled
    const wrong: Schedules<Tasks> = { report: { everySeconds: 60, task: "report.mak" } };
    compiles(() => createScheduler({ table, schedules }));
    expect(wrong).to.have.property("report");
  });

  it("are inferred from the input types of schemas", () => {
    const at = z.object({ at: z.iso.datetime().transform((text) => new Date(text)) });
    const typed = createJobTable({ db, tasks: defineTasks({ remind: at }) });
    const payload = { at: "2026-01-01T00:00:00Z" };
    compiles(() =>
      createScheduler({ table: typed, schedules: { a: { cron: "@daily", task: "remind", payload } } }),
    );
  });

  it("leave the types of an untyped table unchanged", () => {
    const untyped = createJobTable({ db });
    const schedules: Schedules = { a: { cron: "@daily", task: "anything", payload: { n: 1 } } };
    compiles(() => [
      createScheduler({ table: untyped, schedules }),
      createScheduler({
        table: untyped,
        schedules: { b: { everySeconds: 5, task: "b" } },
        logger: undefined,
      }),
    ]);
  });
});
