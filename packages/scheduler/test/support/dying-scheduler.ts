import { createJobTable } from "@svc/job-table";
import { createScheduler } from "@svc/scheduler";
import { once } from "node:events";
import { Pool, type PoolClient } from "pg";
import { boundaryOf } from "./boundaries.ts";

// A scheduler in its own process that kills itself before, during or after one kind of statement.
const [url = "", name = "", ticks = "", kind = "", when = ""] = process.argv.slice(2);
const pool = new Pool({ connectionString: url });
const die = (): never => {
  process.kill(process.pid, "SIGKILL");
  throw new Error("still alive");
};
const dying = (client: PoolClient): object => ({
  release: () => client.release(),
  async query(text: string, values: unknown[]) {
    const here = boundaryOf(text) === kind;
    if (here && when === "before") die();
    const answer = client.query(text, values);
    if (here && when === "while") die();
    await answer;
    if (here && when === "after") die();
    return answer;
  },
});
const db = { connect: async () => dying(await pool.connect()) as PoolClient };
let nowMs = 0;
const scheduler = createScheduler({
  table: createJobTable({ db, name }),
  ticksTable: ticks,
  schedules: { beat: { everySeconds: 60, task: "beat" } },
  now: () => nowMs,
});
process.stdout.write("ready");
const [line] = (await once(process.stdin, "data")) as [Buffer];
nowMs = Number(line.toString());
await scheduler.runDue();
process.exit(0);
