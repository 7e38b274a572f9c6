import { errorText } from "@svc/job-table";
import { testDatabase } from "@svc/dev-services";
import { expect } from "chai";
import { openBench } from "./support/bench.ts";

class Unreadable extends Error {
  override get message(): string {
    throw new Error("no");
  }
}

describe("errorText", () => {
  const cases: readonly (readonly [string, unknown, string])[] = [
    ["an error", new TypeError("no"), "TypeError: no"],
    ["an error without a message", new RangeError(), "RangeError"],
    [
      "an error with only a code",
      Object.assign(new AggregateError([]), { code: "ECONNREFUSED" }),
      "AggregateError: ECONNREFUSED",
    ],
    [
      "an error with a cause",
      new Error("no", { cause: new Error("refused") }),
      "Error: no (caused by Error: refused)",
    ],
    ["a string", "broke", "broke"],
    ["an empty string", "", "an empty string was thrown"],
    ["undefined", undefined, "undefined was thrown"],
    ["a number", 7, "7 was thrown"],
    ["an object", { secret: 1 }, "an object was thrown"],
    ["an object with a message", { message: "odd" }, "odd"],
    [
      "an error that could not be converted to text",
      new Unreadable(),
      "an error that could not be converted to text",
    ],
    [
      "a string with NUL and control characters",
      "a\0b\u0007c\u001b[31mred\u001b[0m\nnext\tx",
      "abcred\nnext\tx",
    ],
    ["a string with half a surrogate pair", "a\ud83d", "a\ufffd"],
    [
      "a string with a password in a URL",
      "connect postgres://ann:pw@host/db failed",
      "connect postgres://***@host/db failed",
    ],
    ["a URL whose password contains @", "postgres://ann:p@ss@host/db", "postgres://***@host/db"],
  ];
  for (const [what, error, text] of cases) {
    it(`JOB-13 returns a storable string for ${what}`, () => expect(errorText(error)).to.equal(text));
  }

  it("JOB-13 keeps 2,000 characters and splits no surrogate pair", () => {
    expect(errorText("x".repeat(1e6))).to.have.lengthOf(2000);
    expect(errorText(`${"x".repeat(1999)}😀`)).to.equal(`${"x".repeat(1999)}\ufffd`);
  });

  describe("in the table", function () {
    this.timeout(30_000);
    const database = testDatabase({ name: "job-error" });

    it("JOB-13 stores at most 2,000 characters in last_error", async () => {
      await using bench = await openBench(database.url);
      await bench.table.enqueueMany([{ task: "a" }, { task: "b" }]);
      const jobs = await bench.table.claim(2);
      const errors = [new Error(`\0${"é😀".repeat(2000)}`), "\ud800 \0"];
      for (const [n, job] of jobs.entries())
        expect(await bench.table.fail(job, errors[n])).to.equal("pending");
      const rows = await bench.rows();
      expect(rows.every(({ last_error }) => last_error !== null && last_error.length <= 2000)).to.equal(true);
    });
  });
});
