import { testDatabase } from "@svc/dev-services";
import { until } from "@svc/test-support";
import { expect } from "chai";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { openBench } from "./support/bench.ts";

const script = fileURLToPath(new URL("support/shifted-worker.ts", import.meta.url));
const HOUR_MS = 3_600_000;

describe("workers with wrong clocks", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-clocks" });

  for (const [what, shift] of [
    ["an hour fast", HOUR_MS],
    ["an hour slow", -HOUR_MS],
  ] as const) {
    it(`JOB-4 JOB-5 JOB-8 JOB-16 follow the server's clock when their own clocks are ${what}`, async () => {
      await using bench = await openBench(database.url, { visibilityTimeoutSeconds: 100 });
      const { table, pool } = bench;
      await table.enqueueMany(["fails", "stays"].map((task) => ({ id: task, task })));
      await table.enqueueMany(["held", "left"].map((id) => ({ id, task: "now", availableAt: new Date(0) })));
      await table.claim(2);
      await pool.query(
        `update ${table.name} set locked_until = now() - interval '1 second' where id = 'left'`,
      );
      const child: ChildProcess = spawn(
        process.execPath,
        ["--conditions=@svc/source", script, database.url, table.name, String(shift)],
        { stdio: ["ignore", "pipe", "inherit"] },
      );
      try {
        let output = "";
        child.stdout?.on("data", (chunk: Buffer) => (output += chunk.toString()));
        const times = (event: string): number => output.split("\n").filter((line) => line === event).length;
        await until("two are done and one has failed", () => times("done") === 2 && times("failed") === 1);
        const { rows } = await pool.query<{ id: string; status: string; attempts: number; due: number }>(
          `select id, status, attempts, date_part('epoch', coalesce(locked_until, available_at) - now()) as due
           from ${table.name} order by id`,
        );
        expect(rows.map(({ id, status, attempts }) => `${id} ${status} ${attempts}`)).to.deep.equal([
          "fails pending 1",
          "held running 1",
          "later pending 0",
          "stays running 1",
        ]);
        const due = new Map(rows.map((row) => [row.id, row.due]));
        expect(due.get("fails")).to.be.within(-30, 2);
        expect(due.get("later")).to.be.within(10, 50);
        expect(due.get("stays")).to.be.within(60, 100);
        expect(due.get("held")).to.be.within(60, 100);
      } finally {
        child.kill("SIGKILL");
        await once(child, "exit");
      }
    });
  }
});
