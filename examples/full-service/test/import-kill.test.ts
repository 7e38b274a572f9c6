import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { createDatabase } from "@svc/database";
import { testDatabase } from "@svc/dev-services";
import { expect } from "chai";
import { untilActivity } from "./support/activity.ts";
import { authEnv } from "./support/caller.ts";
import { walk } from "./support/expenses.ts";
import { header, rowsOf, sendFile, untilImport } from "./support/files.ts";
import { runService, serviceFor } from "./support/running-service.ts";

const script = fileURLToPath(new URL("support/import-worker.ts", import.meta.url));

describe("a worker that is killed in the middle of a file", function () {
  this.timeout(60_000);
  const server = serviceFor(testDatabase({ name: "import kill" }), { role: "server" });

  it("JOB-16 OUT-2 leaves the file to the next worker: each row becomes one expense and is counted once", async () => {
    await using db = createDatabase({ url: server.databaseUrl });
    const place = await sendFile(server.url, `${header}\n${rowsOf(200)}`);
    await db.query(`create function slowly() returns trigger language plpgsql as
      $$ begin perform pg_sleep(0.3); return null; end $$`);
    await db.query(
      "create trigger slowly after insert on expenses for each statement execute function slowly()",
    );

    const worker = spawn(process.execPath, ["--conditions=@svc/source", script], {
      env: { ...process.env, ...authEnv, SVC_PORT: "0", DATABASE_URL: server.databaseUrl },
      stdio: ["ignore", "ignore", "inherit"],
    });
    const ended = once(worker, "close");
    const cut = await untilImport(server.url, place, ({ recorded }) => recorded > 0);
    worker.kill("SIGKILL");
    await ended;
    expect(cut.state).to.equal("running");
    await db.query("drop trigger slowly on expenses");
    // Jobs for events of rows that were recorded before the kill may be running, too.
    const { rows } = await db.query<{ task: string; attempts: number }>(
      `update svc_jobs set locked_until = now() - interval '1 second' where status = 'running'
      returning task, attempts`,
    );
    expect(rows).to.deep.include({ task: "expenses.import", attempts: 1 });

    await using _next = await runService(server.databaseUrl, { role: "worker" });
    const done = await untilImport(server.url, place);
    expect({ recorded: done.recorded, failed: done.failed }).to.deep.equal({ recorded: 200, failed: 0 });
    expect(await walk(server.url, { tenant: "acme", limit: "100" })).to.have.length(200);
    await untilActivity(server.url, 200);
  });
});
