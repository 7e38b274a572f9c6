import { testDatabase } from "@svc/dev-services";
import { createJobTable, type JobTable, tableAccess } from "@svc/job-table";
import { rejection } from "@svc/test-support";
import { expect } from "chai";
import { openBench } from "./support/bench.ts";

describe("tableAccess()", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-access" });

  it("JOB-3 enqueuePart() queues a job only if the CTE that it reads returns a row, and each id only once", async () => {
    await using bench = await openBench(database.url);
    const access = tableAccess("mine()", bench.table, 5000);
    expect([access.db, access.channel]).to.deep.equal([bench.pool, `svc_job:${bench.table.name}`]);
    const queue = async (id: string, wanted: boolean): Promise<unknown> => {
      const job = { id, task: "a", payload: { n: 1 }, requestId: "r-1", tenantId: null, trace: null };
      const part = access.enqueuePart(job, { from: "gate", first: 2 });
      return access.query(
        `with gate as (select where $1::bool), made as (${part.text}) select id from made`,
        [wanted, ...part.values],
      );
    };
    expect(await queue("no", false)).to.deep.equal([]);
    expect(await queue("yes", true)).to.deep.equal([{ id: "yes" }]);
    expect(await queue("yes", true)).to.deep.equal([]);
    const [row, ...more] = await bench.rows();
    expect(more).to.deep.equal([]);
    expect(row).to.deep.include({
      id: "yes",
      payload: { n: 1 },
      attempts: 0,
      max_attempts: 3,
      status: "pending",
    });
    expect(row).to.deep.include({ request_id: "r-1", tenant_id: null, trace: null });
  });

  it("rejects a statement at its deadline, and returns no channel with notify: false", async () => {
    const table = createJobTable({ db: { query: () => new Promise(() => undefined) }, notify: false });
    const access = tableAccess("mine()", table, 20);
    expect(access.channel).to.equal(undefined);
    expect(await rejection(access.query("select", []))).to.include({ code: "ERR_SVC_SQL_DEADLINE" });
  });

  it("rejects an invalid table, timeout and job, naming the caller", async () => {
    const table = createJobTable({ db: { query: () => Promise.reject(new Error("sent")) } });
    const other = await rejection(() => tableAccess("mine()", {} as JobTable, 5000));
    expect(other.message)
      .to.include("mine()")
      .and.include("table: must be a table returned by createJobTable()");
    const time = await rejection(() => tableAccess("mine()", table, 0));
    expect(time.message).to.include("timeoutMs: must be a whole number from 10 to 60000");
    const job = await rejection(() =>
      tableAccess("mine()", table, 5000).enqueuePart({ task: "" }, { from: "gate", first: 1 }),
    );
    expect(job).to.include({ code: "ERR_SVC_JOB_ARGUMENT" });
  });
});
