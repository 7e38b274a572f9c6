import { testDatabase } from "@svc/dev-services";
import { defineTasks, type JobTable } from "@svc/job-table";
import { queueOptions, queuePlugin } from "@svc/job-table/plugin";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import type { Pool } from "pg";
import { z } from "zod";
import { openPool } from "./support/bench.ts";

describe("the option tasks of the plugin queue", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-plugin-tasks" });

  /** Starts the plugin with a pool, as a service does. */
  async function tableOf(pool: Pool, given: object): Promise<JobTable> {
    const context = {
      options: queueOptions.resolve(given),
      code: () => undefined,
      part: () => pool,
      systemPaths: () => [],
    };
    const { parts } = (await queuePlugin.start(context as never)) as unknown as {
      readonly parts: { readonly jobs: JobTable };
    };
    return parts.jobs;
  }

  it("makes the table of the service check payloads", async () => {
    const pool = openPool(database.url);
    const tasks = defineTasks({ "mail.send": z.object({ to: z.string() }) });
    const table = await tableOf(pool, { tasks });
    await table.ensureSchema();
    const error = await rejection(table.enqueue({ task: "mail.send", payload: { to: 7 } }));
    expect(error).to.include({ code: "ERR_SVC_JOB_SCHEMA" });
    expect(await table.stats()).to.eql({ pending: 0, running: 0, dead: 0 });
    await (table as JobTable<{ "mail.send": { to: string } }>).enqueue({
      task: "mail.send",
      payload: { to: "ann" },
    });
    expect(await table.stats()).to.include({ pending: 1 });
    await pool.end();
  });

  it("must be the result of defineTasks()", () => {
    expect(() => queueOptions.resolve({ tasks: { a: z.object({}) } })).to.throw(
      "tasks: must be the result of defineTasks()",
    );
  });
});
