import { testDatabase } from "@svc/dev-services";
import { until } from "@svc/test-support";
import { expect } from "chai";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expire, openBench } from "./support/bench.ts";
import { work } from "./support/working.ts";

const script = fileURLToPath(new URL("support/dying-worker.ts", import.meta.url));

/** Starts a worker process and kills it once three of its handlers run. */
async function dieAtWork(url: string, name: string): Promise<void> {
  const child: ChildProcess = spawn(process.execPath, ["--conditions=@svc/source", script, url, name], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  let out = "";
  child.stdout?.on("data", (chunk: Buffer) => (out += chunk.toString()));
  await until("three handlers run", () => out.split("started").length === 4, 30_000);
  child.kill("SIGKILL");
  await once(child, "exit");
}

describe("a killed worker", function () {
  this.timeout(90_000);
  const database = testDatabase({ name: "job-kill" });

  it("JOB-16 JOB-22 loses no job: another worker runs its jobs, and those killed on their last attempt are dead", async () => {
    await using bench = await openBench(database.url);
    await bench.pool.query("create table starts (job text, pid int)");
    const last = new Set(["00", "01", "02"]);
    await bench.table.enqueueMany(
      Array.from({ length: 30 }, (_, n) => ({
        id: `${n}`.padStart(2, "0"),
        task: "a",
        maxAttempts: n < 3 ? 1 : 3,
      })),
    );
    await Promise.all([dieAtWork(database.url, bench.table.name), dieAtWork(database.url, bench.table.name)]);
    const { rows: held } = await bench.pool.query<{ job: string }>("select job from starts");
    expect(new Set(held.map(({ job }) => job)).size, "only the six running jobs are leased").to.equal(6);
    // Expire leases only after both workers died: a worker that starts slowly would otherwise claim the jobs of the
    // dead one.
    await expire(bench);
    const attempts = new Map<string, number>();
    await using working = work(bench, {
      concurrency: 10,
      handlers: { a: (_payload, job) => void attempts.set(job.id, job.attempts) },
    });
    await until(
      "nothing is left but the dead",
      async () => (await bench.rows()).every(({ status }) => status === "dead"),
      30_000,
    );
    expect((await bench.table.dead()).map(({ id }) => id).toSorted()).to.deep.equal([...last]);
    expect(attempts.size).to.equal(27);
    for (const [id, attempt] of attempts) {
      expect(attempt, id).to.equal(held.some(({ job }) => job === id) ? 2 : 1);
    }
    expect(working.ids("dead").toSorted()).to.deep.equal([...last]);
  });
});
