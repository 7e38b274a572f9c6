import { testDatabase } from "@svc/dev-services";
import { createJobTable, defineTasks, JobError, type StandardSchema } from "@svc/job-table";
import { ConfigurationError } from "@svc/options";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import type { Pool } from "pg";
import { z } from "zod";
import { openPool } from "./support/bench.ts";
import { openTable, storedIn } from "./support/typed-table.ts";

const SECRET = "hunter2-in-the-payload";

/** Returns a schema with the given validation. */
function schemaOf(validate: StandardSchema["~standard"]["validate"]): StandardSchema {
  return { "~standard": { version: 1, vendor: "test", validate } };
}

const throwing = schemaOf(() => {
  throw new RangeError(`cannot check ${SECRET}`);
});

describe("faulty schemas of tasks", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-task-schemas" });
  let pool: Pool;
  before(() => {
    pool = openPool(database.url);
  });
  after(() => pool.end());

  it("refuse a job when they throw: enqueue() sets the error as cause, and claim() stores only its class", async () => {
    const table = await openTable(pool, defineTasks({ broken: throwing }));
    const error = await rejection(table.enqueue({ task: "broken" }));
    expect(error).to.be.instanceOf(JobError).and.include({
      code: "ERR_SVC_JOB_SCHEMA",
      message: "the schema of the task broken threw RangeError",
    });
    expect((error as Error).cause).to.be.instanceOf(RangeError);
    await pool.query(`insert into ${table.name} (id, task) values ('1', 'broken')`);
    expect(await table.claim()).to.eql([]);
    expect((await storedIn(pool, table))[0]).to.include({
      status: "pending",
      attempts: 1,
      last_error: "JobError: the schema of the task broken threw RangeError",
    });
  });

  it("refuse a job when they are asynchronous or return nothing", async () => {
    const late = schemaOf(async () => Promise.reject(new Error(SECRET)));
    const never = schemaOf(() => undefined as never);
    const string = schemaOf(() => {
      throw SECRET;
    });
    const table = await openTable(pool, defineTasks({ late, never, string }));
    const messageOf = async (task: "late" | "never" | "string"): Promise<string> =>
      ((await rejection(table.enqueue({ task }))) as Error).message;
    expect([await messageOf("late"), await messageOf("never"), await messageOf("string")]).to.eql([
      "the schema of the task late is asynchronous; use a synchronous one",
      "the schema of the task never returned no result",
      "the schema of the task string threw a value of the type string",
    ]);
    expect(await storedIn(pool, table)).to.eql([]);
  });

  it("report at most ten paths, each once, with keys of at most 100 characters", async () => {
    const issues = Array.from({ length: 13 }, (_, index) => ({
      message: SECRET,
      path: [{ key: "list" }, index, "k".repeat(500)],
    }));
    const many = schemaOf(() => ({ issues: [...issues, ...issues] }));
    const none = schemaOf(() => ({ issues: [] }));
    const table = await openTable(pool, defineTasks({ many, none }));
    const { message } = (await rejection(table.enqueue({ task: "many" }))) as Error;
    const path = `payload.list[9].${"k".repeat(100)}`;
    expect(message).to.contain(`, ${path} and 3 more`).and.not.contain(SECRET);
    expect(((await rejection(table.enqueue({ task: "none" }))) as Error).message).to.match(/ at payload$/);
  });

  it("accept a payload when the issues are null, and refuse it when the issues are malformed", async () => {
    const issuesOf = (issues: unknown): StandardSchema => schemaOf(() => ({ issues }) as never);
    const unreadable = {
      get path(): never {
        throw new Error(SECRET);
      },
    };
    const odd = {
      text: issuesOf(SECRET),
      count: issuesOf(3),
      nothing: issuesOf([null]),
      path: issuesOf([{ path: 7 }]),
      part: issuesOf([{ path: [null] }]),
      unreadable: issuesOf([unreadable]),
      symbol: issuesOf([{ path: [Symbol("a"), { key: {} }] }]),
    };
    const accepting = schemaOf((value) => ({ value, issues: null }) as never);
    const table = await openTable(pool, defineTasks({ accepting, ...odd }));
    expect(await table.enqueue({ task: "accepting", payload: 1 })).to.include({ enqueued: true });
    expect((await table.claim())[0]).to.deep.include({ payload: 1 });
    for (const task of Object.keys(odd) as (keyof typeof odd)[]) {
      const error = await rejection(table.enqueue({ task }));
      expect(error, task).to.include({ code: "ERR_SVC_JOB_SCHEMA" });
      expect((error as Error).message, task)
        .to.match(/ at payload/)
        .and.not.contain(SECRET);
    }
  });

  it("refuse a job when their result or the name of their error cannot be read", async () => {
    const result = schemaOf(() => ({
      get issues(): never {
        throw new RangeError(SECRET);
      },
    }));
    const nameless = schemaOf(() => {
      throw Object.defineProperty(new Error(SECRET), "name", {
        get() {
          throw new Error(SECRET);
        },
      });
    });
    const table = await openTable(pool, defineTasks({ result, nameless }));
    const messageOf = async (task: "result" | "nameless"): Promise<string> =>
      ((await rejection(table.enqueue({ task }))) as Error).message;
    expect(await messageOf("result")).to.equal("the schema of the task result threw RangeError");
    expect(await messageOf("nameless")).to.equal(
      "the schema of the task nameless threw a value of the type object",
    );
  });

  it("report at most 20 parts of a path", async () => {
    const deep = schemaOf(() => ({ issues: [{ message: "", path: Array<string>(50).fill("a") }] }));
    const table = await openTable(pool, defineTasks({ deep }));
    const { message } = (await rejection(table.enqueue({ task: "deep" }))) as Error;
    expect(message).to.match(/ at payload(?:\.a){20}\.\.\.$/);
  });

  it("are rejected by defineTasks() for a task name that enqueue() would always reject", () => {
    const schema = z.object({});
    const names = ["", "a".repeat(256), "a\nb", "\ud800"];
    expect(() => defineTasks(Object.fromEntries(names.map((name) => [name, schema]))))
      .to.throw(ConfigurationError, "(4 faults)")
      .with.property("message")
      .that.contains('the task "": must have 1 to 255 characters; it has 0')
      .and.contains(`the task "${"a".repeat(80)}": must have 1 to 255 characters; it has 256`)
      .and.contains('the task "a\\nb": must not contain control characters');
  });

  it("are rejected by defineTasks() if they are not Standard Schemas, and by a table if defineTasks() did not return them", () => {
    expect(() => defineTasks({ a: {} as never, b: z.object({}), c: null as never })).to.throw(
      ConfigurationError,
      "defineTasks() is configured wrongly (2 faults):\n  - a: must be a Standard Schema, such as one of zod, valibot or arktype\n  - c: must",
    );
    expect(() => defineTasks([] as never)).to.throw(
      ConfigurationError,
      "schemas: must be an object of schemas by task",
    );
    const direct = { a: z.object({}) } as never;
    expect(() => createJobTable({ db: pool, tasks: direct })).to.throw(
      ConfigurationError,
      "tasks: must be the result of defineTasks()",
    );
  });
});
