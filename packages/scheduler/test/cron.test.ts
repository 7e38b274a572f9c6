import { createJobTable } from "@svc/job-table";
import { createScheduler } from "@svc/scheduler";
import { expect } from "chai";
import fc from "fast-check";
import { momentsOf, wallOf } from "./support/oracle.ts";

const table = createJobTable({ db: { query: () => Promise.reject(new Error("sent")) } });

/** Returns the next `count` ticks after a moment, through the public interface only. */
function ticks(cron: string, zone: string | undefined, from: string | number, count: number): string[] {
  let nowMs = typeof from === "number" ? from : Date.parse(from);
  const scheduler = createScheduler({
    table,
    schedules: { it: { cron, zone, task: "a" } },
    now: () => nowMs,
  });
  return Array.from({ length: count }, () => {
    const at = scheduler.nextTicks()[0]?.at ?? "never";
    nowMs = Date.parse(at);
    return at;
  });
}

function short(moments: readonly string[]): string {
  return moments.map((at) => at.replace(":00.000Z", "").slice(5)).join(" ");
}

describe("cron", () => {
  const calendar: readonly (readonly [string, string, string])[] = [
    ["*/20 * * * *", "2026-03-01T23:30Z", "03-01T23:40 03-02T00:00 03-02T00:20 03-02T00:40"],
    ["5,10-12 9 * * *", "2026-03-01T00:00Z", "03-01T09:05 03-01T09:10 03-01T09:11 03-01T09:12"],
    ["0 0-23/12 * * *", "2026-03-01T00:00Z", "03-01T12:00 03-02T00:00 03-02T12:00 03-03T00:00"],
    ["0 9 * * MON-fri", "2026-01-01T10:00Z", "01-02T09:00 01-05T09:00 01-06T09:00 01-07T09:00"],
    ["0 9 * * 0", "2026-01-01T00:00Z", "01-04T09:00 01-11T09:00 01-18T09:00 01-25T09:00"],
    ["0 9 * * 7", "2026-01-01T00:00Z", "01-04T09:00 01-11T09:00 01-18T09:00 01-25T09:00"],
    ["0 9 * * 5-7", "2026-01-01T00:00Z", "01-02T09:00 01-03T09:00 01-04T09:00 01-09T09:00"],
    ["0 9 * * FRI-SUN", "2026-01-01T00:00Z", "01-02T09:00 01-03T09:00 01-04T09:00 01-09T09:00"],
    ["0 0 1 JAN,jul *", "2026-01-01T00:00Z", "07-01T00:00 01-01T00:00 07-01T00:00 01-01T00:00"],
    ["0 0 31 * *", "2026-01-31T00:00Z", "03-31T00:00 05-31T00:00 07-31T00:00 08-31T00:00"],
    ["0 0 29 2 *", "2026-01-01T00:00Z", "02-29T00:00 02-29T00:00 02-29T00:00 02-29T00:00"],
    ["@hourly", "2026-01-01T00:00Z", "01-01T01:00 01-01T02:00 01-01T03:00 01-01T04:00"],
    ["@daily", "2026-01-01T00:00Z", "01-02T00:00 01-03T00:00 01-04T00:00 01-05T00:00"],
    ["@midnight", "2026-01-01T00:00Z", "01-02T00:00 01-03T00:00 01-04T00:00 01-05T00:00"],
    ["@weekly", "2026-01-01T00:00Z", "01-04T00:00 01-11T00:00 01-18T00:00 01-25T00:00"],
    ["@Monthly", "2026-01-01T00:00Z", "02-01T00:00 03-01T00:00 04-01T00:00 05-01T00:00"],
    ["@yearly", "2026-01-01T00:00Z", "01-01T00:00 01-01T00:00 01-01T00:00 01-01T00:00"],
    [" 0\t12  * * * ", "2026-01-01T00:00Z", "01-01T12:00 01-02T12:00 01-03T12:00 01-04T12:00"],
    // With both day fields restricted, either may match; a field that begins with a star requires both.
    ["0 0 13 * FRI", "2026-01-01T00:00Z", "01-02T00:00 01-09T00:00 01-13T00:00 01-16T00:00"],
    ["0 0 */2 * MON", "2026-01-01T00:00Z", "01-05T00:00 01-19T00:00 02-09T00:00 02-23T00:00"],
    ["0 0 1-7 * */2", "2026-01-01T00:00Z", "01-03T00:00 01-04T00:00 01-06T00:00 02-01T00:00"],
    ["0 0 30 2 MON", "2026-01-01T00:00Z", "02-02T00:00 02-09T00:00 02-16T00:00 02-23T00:00"],
    ["0 0 1-31 * 1", "2026-01-01T00:00Z", "01-02T00:00 01-03T00:00 01-04T00:00 01-05T00:00"],
    ["0 0 1 * 0-6", "2026-01-01T00:00Z", "01-02T00:00 01-03T00:00 01-04T00:00 01-05T00:00"],
  ];
  for (const [cron, from, expected] of calendar) {
    it(`SCH-3 lists the ticks of ${JSON.stringify(cron)}`, () => {
      expect(short(ticks(cron, undefined, from, 4))).to.equal(expected);
    });
  }

  // The following expressions run around clock changes; all moments are in UTC.
  const changes: readonly (readonly [string, string, string, string, string])[] = [
    // Clocks go forward from 02:00 to 03:00 on March 29, at 01:00 UTC.
    [
      "Europe/Berlin",
      "a skipped time fires an hour later",
      "30 2 * * *",
      "2026-03-28T00:00Z",
      "03-28T01:30 03-29T01:30 03-30T00:30",
    ],
    [
      "Europe/Berlin",
      "a skipped time that moves to another due time is one tick",
      "30 2,3 * * *",
      "2026-03-28T12:00Z",
      "03-29T01:30 03-30T00:30 03-30T01:30",
    ],
    [
      "Europe/Berlin",
      "hourly ticks continue",
      "30 * * * *",
      "2026-03-28T23:00Z",
      "03-28T23:30 03-29T00:30 03-29T01:30 03-29T02:30",
    ],
    [
      "Europe/Berlin",
      "half-hourly ticks continue",
      "*/30 * * * *",
      "2026-03-29T00:29Z",
      "03-29T00:30 03-29T01:00 03-29T01:30 03-29T02:00",
    ],
    // Clocks go back from 03:00 to 02:00 on October 25, at 01:00 UTC.
    [
      "Europe/Berlin",
      "a repeated time fires at its first occurrence",
      "30 2 * * *",
      "2026-10-24T12:00Z",
      "10-25T00:30 10-26T01:30 10-27T01:30",
    ],
    [
      "Europe/Berlin",
      "listed hours fire only at their first occurrence",
      "0,30 2,4 * * *",
      "2026-10-24T12:00Z",
      "10-25T00:00 10-25T00:30 10-25T03:00 10-25T03:30",
    ],
    [
      "Europe/Berlin",
      "steps of hours fire only at their first occurrence",
      "0 */2 * * *",
      "2026-10-24T21:00Z",
      "10-24T22:00 10-25T00:00 10-25T03:00 10-25T05:00",
    ],
    [
      "Europe/Berlin",
      "every hour fires at both occurrences",
      "30 * * * *",
      "2026-10-24T23:00Z",
      "10-24T23:30 10-25T00:30 10-25T01:30 10-25T02:30",
    ],
    // Clocks go forward from 02:00 to 03:00 on March 8, at 07:00 UTC, and back on November 1, at 06:00 UTC.
    [
      "America/New_York",
      "a skipped time fires an hour later",
      "15 2 * * *",
      "2026-03-07T12:00Z",
      "03-08T07:15 03-09T06:15",
    ],
    [
      "America/New_York",
      "a repeated time fires at its first occurrence",
      "15 1 * * *",
      "2026-10-31T12:00Z",
      "11-01T05:15 11-02T06:15",
    ],
    [
      "America/New_York",
      "every hour fires at both occurrences",
      "15 * * * *",
      "2026-11-01T05:00Z",
      "11-01T05:15 11-01T06:15 11-01T07:15",
    ],
    // Clocks change by half an hour: back from 02:00 to 01:30 on April 5 (15:00 UTC on the 4th), forward from 02:00 to
    // 02:30 on October 4 (15:30 UTC on the 3rd).
    [
      "Australia/Lord_Howe",
      "a skipped time fires half an hour later",
      "15 2 * * *",
      "2026-10-03T00:00Z",
      "10-03T15:45 10-04T15:15",
    ],
    [
      "Australia/Lord_Howe",
      "a repeated time fires at its first occurrence",
      "45 1 * * *",
      "2026-04-04T00:00Z",
      "04-04T14:45 04-05T15:15",
    ],
    [
      "Australia/Lord_Howe",
      "every hour fires at both occurrences",
      "45 * * * *",
      "2026-04-04T14:00Z",
      "04-04T14:45 04-04T15:15 04-04T16:15",
    ],
    [
      "Asia/Kolkata",
      "local times have a half-hour offset and no clock changes",
      "0 9 * * *",
      "2026-03-28T00:00Z",
      "03-28T03:30 03-29T03:30 03-30T03:30",
    ],
    ["Asia/Kolkata", "fires hourly at :30 UTC", "0 * * * *", "2026-03-28T00:00Z", "03-28T00:30 03-28T01:30"],
    // Midnight was skipped on November 4, 2018; 23:00 was repeated on February 17, 2018. No clock changes since 2019.
    [
      "America/Sao_Paulo",
      "a skipped midnight fires at 01:00",
      "0 0 * * *",
      "2018-11-03T12:00Z",
      "11-04T03:00 11-05T02:00",
    ],
    [
      "America/Sao_Paulo",
      "a repeated 23:30 fires at its first occurrence",
      "30 23 * * *",
      "2018-02-17T12:00Z",
      "02-18T01:30 02-19T02:30",
    ],
    [
      "America/Sao_Paulo",
      "every hour fires at both occurrences",
      "30 * * * *",
      "2018-02-18T01:00Z",
      "02-18T01:30 02-18T02:30 02-18T03:30",
    ],
    [
      "America/Sao_Paulo",
      "midnight is constant without clock changes since 2019",
      "0 0 * * *",
      "2026-11-01T12:00Z",
      "11-02T03:00 11-03T03:00",
    ],
    // The zone skipped a whole day: December 30, 2011.
    ["Pacific/Apia", "a skipped day fires a day later", "0 12 30 12 *", "2011-12-01T00:00Z", "12-30T22:00"],
  ];
  for (const [zone, what, cron, from, expected] of changes) {
    it(`SCH-3 ${zone}: ${what} (${cron})`, () => {
      expect(short(ticks(cron, zone, from, expected.split(" ").length))).to.equal(expected);
    });
  }

  it("SCH-3 agrees with a minute-by-minute reading of the clocks, for random expressions around clock changes", () => {
    const DAYS = 3;
    const MOST = 30;
    const spans = (
      [
        ["Europe/Berlin", "2026-03-28"],
        ["Europe/Berlin", "2026-10-24"],
        ["America/New_York", "2026-03-07"],
        ["America/New_York", "2026-10-31"],
        ["Australia/Lord_Howe", "2026-04-04"],
        ["Australia/Lord_Howe", "2026-10-03"],
        ["America/Sao_Paulo", "2018-02-16"],
        ["America/Sao_Paulo", "2018-11-03"],
        ["Asia/Kolkata", "2024-02-28"],
        ["Pacific/Apia", "2011-12-29"],
      ] as const
    ).map(([zone, day]) => {
      const from = Date.parse(`${day}T00:00Z`);
      return { zone, from, wall: wallOf(zone, from, DAYS * 1440) };
    });
    const part = (low: number, high: number): fc.Arbitrary<string> =>
      fc.oneof(
        fc.integer({ min: low, max: high }).map(String),
        fc
          .tuple(
            fc.integer({ min: low, max: high }),
            fc.integer({ min: low, max: high }),
            fc.integer({ min: 1, max: 4 }),
          )
          .map(
            ([a, b, step]) => `${Math.min(a, b)}-${Math.max(a, b)}${step === 1 || a === b ? "" : `/${step}`}`,
          ),
        fc.integer({ min: 2, max: Math.min(high - low, 20) }).map((step) => `*/${step}`),
      );
    const field = (low: number, high: number): fc.Arbitrary<string> =>
      fc.oneof(
        fc.constant("*"),
        fc.array(part(low, high), { minLength: 1, maxLength: 3 }).map((parts) => parts.join(",")),
      );
    const expression = fc
      .tuple(
        fc.oneof(part(0, 59), field(0, 59)),
        field(0, 4),
        fc.oneof({ weight: 3, arbitrary: fc.constant("*") }, { weight: 1, arbitrary: field(1, 31) }),
        fc.constant("*"),
        fc.oneof({ weight: 3, arbitrary: fc.constant("*") }, { weight: 1, arbitrary: field(0, 7) }),
      )
      .map((fields) => fields.join(" "));
    fc.assert(
      fc.property(
        fc.constantFrom(...spans),
        expression,
        fc.nat({ max: 1440 }),
        ({ zone, from, wall }, cron, start) => {
          const begin = from + 720 * 60_000 + start * 60_000;
          const end = from + (DAYS - 1) * 86_400_000;
          // Compare only ticks inside the span, because skipped times need the clocks of the day before and the day
          // after.
          const expected = momentsOf(cron, wall)
            .filter((ms) => ms > begin && ms <= end)
            .slice(0, MOST);
          const found = ticks(cron, zone, begin, expected.length + 1).map((at) => Date.parse(at));
          expect(found.slice(0, -1)).to.deep.equal(expected);
          if (expected.length < MOST) expect(found.at(-1)).to.be.above(end);
        },
      ),
      { numRuns: 200, interruptAfterTimeLimit: 1000, markInterruptAsFailure: false },
    );
  });
});
