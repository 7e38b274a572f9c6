import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { testDatabase } from "@svc/dev-services";
import { createJobTable } from "@svc/job-table";
import { createScheduler, type Scheduler } from "@svc/scheduler";
import { expect } from "chai";
import type { Pool, PoolClient } from "pg";
import { type Bench, MINUTE_MS, openBench, openPool } from "./support/bench.ts";
import { boundaryOf } from "./support/boundaries.ts";

const schedules = { beat: { everySeconds: 60, task: "beat" } } as const;
const PROGRAM = new URL("support/dying-scheduler.ts", import.meta.url).pathname;
const MOMENTS = ["before", "while", "after"] as const;

/** Starts a process that receives the time, runs a pass, and dies at a statement boundary. */
async function dying(url: string, bench: Bench, boundary: string): Promise<ChildProcess> {
  const args = [
    "--conditions=@svc/source",
    PROGRAM,
    url,
    bench.table.name,
    bench.ticks,
    ...boundary.split(" "),
  ];
  const child = spawn(process.execPath, args, { stdio: ["pipe", "pipe", "inherit"] });
  if (child.stdout !== null) await once(child.stdout, "data");
  return child;
}

async function killed(child: ChildProcess, nowMs: number): Promise<void> {
  child.stdin?.end(String(nowMs));
  expect((await once(child, "exit"))[1]).to.equal("SIGKILL");
}

function ignore(): void {}

/** Returns a pool whose connection the server closes before, during or after a claim. */
function breaking(
  pool: Pool,
  admin: Pool,
  when: (typeof MOMENTS)[number],
): { connect(): Promise<PoolClient> } {
  const cut = async (client: PoolClient): Promise<void> => {
    const { processID } = client as PoolClient & { readonly processID: number };
    await admin.query("select pg_terminate_backend($1)", [processID]);
  };
  return {
    async connect() {
      const client = await pool.connect();
      if (!client.listeners("error").includes(ignore)) client.on("error", ignore);
      let isCut = false;
      return {
        release: (error) => client.release(isCut || error),
        async query(text: string, values: unknown[]) {
          if (boundaryOf(text) !== "fire") return client.query(text, values);
          isCut = true;
          if (when === "before") await cut(client);
          const [result] = await Promise.all([
            client.query(text, values),
            when === "while" ? cut(client) : undefined,
          ]);
          if (when === "after") throw new Error("Connection terminated unexpectedly");
          return result;
        },
      } as PoolClient;
    },
  };
}

describe("schedulers that are killed", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "scheduler-kill" });
  const started: ChildProcess[] = [];
  after("end what a failure has left", () => {
    for (const child of started) child.kill("SIGKILL");
  });

  it("SCH-1 SCH-4 queue each of 39 ticks exactly once when they die at every statement boundary", async () => {
    const pool = openPool(database.url);
    const admin = openPool(database.url, 1);
    await using bench = await openBench(database.url, pool);
    const done: unknown[] = [];
    const work = async (): Promise<void> => {
      for (const job of await bench.table.claim(10)) {
        done.push((job.payload as { scheduled_for: string }).scheduled_for);
        await bench.table.ack(job);
      }
    };
    const next = (): Scheduler => bench.scheduler({ schedules });
    // Dying after one statement is the same as dying before the next, so six boundaries cover all. The server may still
    // run a statement after its sender died: delete ticks only for the first two children.
    const children = await Promise.all(
      ["begin after", "begin while", "read while", "fire before", "fire while", "fire after"].map(
        (boundary) => dying(database.url, bench, boundary),
      ),
    );
    started.push(...children);
    for (const child of children.slice(0, 2)) {
      await bench.pool.query(`delete from ${bench.ticks}`);
      await killed(child, bench.nowMs);
    }
    await next().runDue();

    const claims: number[] = [];
    for (let tick = 1; tick <= 39; tick++) {
      bench.nowMs += MINUTE_MS;
      const child = children[tick + 1];
      if (child !== undefined) await killed(child, bench.nowMs);
      else if (tick % 2 === 0) {
        const db = breaking(pool, admin, MOMENTS[(tick / 2) % 3] ?? "before");
        const table = createJobTable({ db, name: bench.table.name });
        const broken = createScheduler({ table, schedules, ticksTable: bench.ticks, now: () => bench.nowMs });
        const { fired, failed } = await broken.runDue();
        claims.push(fired.length, failed.length);
      }
      await work();
      // Two schedulers take over at the same moment.
      await Promise.all([next().runDue(), next().runDue()]);
      await work();
    }
    expect(new Set(done).size).to.equal(39);
    expect(done).to.have.lengthOf(39);
    expect(await bench.claims()).to.have.lengthOf(39);
    // Some passes must have failed because of a broken connection.
    expect(claims.filter((_, index) => index % 2 === 1)).to.include(1);
    await admin.end();
  });
});
