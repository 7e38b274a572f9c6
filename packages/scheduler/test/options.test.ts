import { createJobTable } from "@svc/job-table";
import { createScheduler, type SchedulerOptions } from "@svc/scheduler";
import { rejection } from "@svc/test-support";
import { expect } from "chai";

const table = createJobTable({ db: { query: () => Promise.reject(new Error("sent")) } });

function refusal(options: object): Promise<Error> {
  return rejection(() => createScheduler({ table, schedules: {}, ...options } as SchedulerOptions));
}

describe("createScheduler()", () => {
  const expressions: readonly (readonly [string, string])[] = [
    ["* * * *", "must have 5 fields (minute, hour, day of month, month, day of week); it has 4"],
    ["0 * * * * *", "it has 6; seconds and years are not supported"],
    [" ", "it has 0"],
    ["@reboot", '"@reboot" is not a macro; expected one of @yearly'],
    ["60 * * * *", 'minute: "60" is not from 0 to 59'],
    ["* 24 * * *", 'hour: "24" is not from 0 to 23'],
    ["* * 0 * *", 'day of month: "0" is not from 1 to 31'],
    ["* * * 13 *", 'month: "13" is not from 1 to 12'],
    ["* * * * 8", 'day of week: "8" is not from 0 to 7'],
    ["* * * MOON *", 'month: "MOON" is not a number from 1 to 12 or a name such as FEB'],
    ["* * * * MON2", 'day of week: "MON2" is not a number'],
    ["MON * * * *", 'minute: "MON" is not a number from 0 to 59'],
    ["0 0 ? * *", 'day of month: "?" is not a number from 1 to 31; ?, L, W, # and H are not supported'],
    ["0 0 L * *", 'day of month: "L" is not a number from 1 to 31; ?, L, W, # and H'],
    ["0 0 15W * *", 'day of month: "15W" is not a number from 1 to 31; ?, L, W, # and H'],
    ["0 0 * * FRI#2", 'day of week: "FRI#2" is not a number'],
    ["H * * * *", 'minute: "H" is not a number from 0 to 59; ?, L, W, # and H are not supported'],
    ["30-10 * * * *", 'minute: "30-10" runs backward'],
    ["0 0 * * FRI-MON", 'day of week: "FRI-MON" runs backward'],
    ["0 0 * * 6-0", 'day of week: "6-0" runs backward'],
    ["5/15 * * * *", 'minute: "5/15" is a step without a range; write 5-59/15'],
    ["*/0 * * * *", 'minute: "*/0" has a step that is not from 1 to 59'],
    ["*/60 * * * *", 'minute: "*/60" has a step that is not from 1 to 59'],
    ["*/5/5 * * * *", 'minute: "*/5/5" has two steps'],
    ["1-2-3 * * * *", 'minute: "1-2-3" is not a range'],
    ["1,,2 * * * *", "minute: has an empty list item"],
    ["-5 * * * *", 'minute: "-5" is not a number'],
    ["1.5 * * * *", 'minute: "1.5" is not a number'],
    ["0 0 30 2 *", 'day of month: no month in "2" has a day 30'],
    ["0 0 31 2,4,JUN */2", 'day of month: no month in "2,4,JUN" has a day 31'],
    ["0 ".repeat(400), "is longer than 512 characters"],
  ];
  for (const [cron, message] of expressions) {
    it(`SCH-3 rejects ${JSON.stringify(cron.slice(0, 40))}, and names the schedule and the field`, async () => {
      const error = await refusal({ schedules: { nightly: { cron, task: "a" } } });
      expect(error).to.include({ code: "ERR_SVC_CONFIGURATION" });
      expect(error.message).to.include(
        `schedules.nightly.cron: ${message.startsWith("it has") ? "" : message}`,
      );
      expect(error.message).to.include(message);
    });
  }

  const schedules: readonly (readonly [unknown, string])[] = [
    [{ task: "a" }, "schedules.it: must have either cron or everySeconds"],
    [{ task: "a", cron: "@daily", everySeconds: 5 }, "schedules.it: must have either cron or everySeconds"],
    [{ cron: "@daily" }, "schedules.it.task: is required"],
    [{ task: "", cron: "@daily" }, "schedules.it.task: must be a non-empty string"],
    [{ task: "a\nb", cron: "@daily" }, "schedules.it: task must not contain control characters"],
    [{ task: "a", everySeconds: 0 }, "schedules.it.everySeconds: must be a whole number from 1"],
    [{ task: "a", everySeconds: 0.5 }, "schedules.it.everySeconds: must be a whole number from 1"],
    [{ task: "a", everySeconds: 5, zone: "UTC" }, "schedules.it.zone: applies only to cron"],
    [
      { task: "a", cron: "@daily", zone: "Mars/Base" },
      'schedules.it.zone: "Mars/Base" is not a known time zone',
    ],
    [{ task: "a", cron: "@daily", payload: [] }, "schedules.it.payload: must be an object"],
    [{ task: "a", cron: "@daily", payload: new Map([["a", 1]]) }, "schedules.it.payload: must be an object"],
    [{ task: "a", cron: "@daily", payload: { a: 1n } }, "schedules.it: payload cannot be serialized as JSON"],
    [{ task: "a", cron: "@daily", payload: { a: "\0" } }, "schedules.it: payload contains NUL"],
    [{ task: "a", cron: "@daily", catchUp: 1 }, "schedules.it.catchUp: must be true or false"],
    [{ task: "a", cron: "@daily", maxAttempts: 0 }, "schedules.it.maxAttempts: must be a whole number"],
    [{ task: "a", cron: "@daily", timezone: "UTC" }, "schedules.it.timezone: is unknown"],
    ["@daily", "schedules.it: must be an object with task"],
  ];
  for (const [schedule, message] of schedules) {
    const what = typeof schedule === "string" ? schedule : Object.entries(schedule as object).join(" ");
    it(`SCH-2 SCH-3 rejects a schedule with ${JSON.stringify(what)}`, async () => {
      expect((await refusal({ schedules: { it: schedule } })).message).to.include(message);
    });
  }

  const options: readonly (readonly [object, string])[] = [
    [{ table: {} }, "table: must be a job table"],
    [{ table: { enqueue() {} } }, "table: must be a table returned by createJobTable()"],
    [{ schedules: undefined }, "schedules: is required"],
    [{ schedules: [{ task: "a", cron: "@daily" }] }, "schedules: must be an object of schedules by name"],
    [
      { schedules: new Map([["a", {}]]) },
      "schedules: must be an object of schedules by name; it is an object (Map)",
    ],
    [{ schedules: { "": { task: "a", everySeconds: 1 } } }, "schedules.: a name must have 1 to 128"],
    [{ schedules: { ["x".repeat(129)]: { task: "a", everySeconds: 1 } } }, "a name must have 1 to 128"],
    [
      { schedules: Object.fromEntries(Array.from({ length: 1001 }, (_, n) => [n, {}])) },
      "schedules: must have at most 1000 entries; it has 1001",
    ],
    [{ ticksTable: "a.b.c" }, "ticksTable: must be a name of at most 48 bytes"],
    [{ retentionDays: 0 }, "retentionDays: must be a whole number from 1"],
    [{ commandTimeoutMs: 5 }, "commandTimeoutMs: must be a whole number from 10"],
    [{ now: 5 }, "now: must be a function"],
    [{ logger: {} }, "logger: must be a logger"],
    [{ onEvent: 1 }, "onEvent: must be a function"],
    [{ zone: "UTC" }, "zone: is unknown"],
  ];
  for (const [given, message] of options) {
    it(`rejects ${JSON.stringify(given).slice(0, 60)} with ${message}`, async () => {
      const error = await refusal(given);
      expect(error).to.include({ code: "ERR_SVC_CONFIGURATION" });
      expect(error.message).to.include(message);
    });
  }

  it("truncates a schedule name of ten thousand characters in the error", async () => {
    const { message } = await refusal({
      schedules: { ["x".repeat(10_000)]: { task: "a", everySeconds: 1 } },
    });
    expect(message.length).to.be.below(400);
  });

  it("lists all faults together", async () => {
    const wrong = {
      a: { cron: "x", task: "a" },
      b: { everySeconds: 0, task: "a" },
      c: { everySeconds: 1, task: "a" },
    };
    const error = await refusal({ schedules: wrong });
    expect(error.message)
      .to.include("2 faults")
      .and.include("schedules.a.cron")
      .and.include("schedules.b.every");
  });
});
