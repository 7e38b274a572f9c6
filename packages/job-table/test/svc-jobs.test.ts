import { testDatabase } from "@svc/dev-services";
import { rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Answer, runJobCommand, svcJobs } from "../src/cli/run.ts";
import { optionsOf } from "../src/job-table.ts";
import { readySql } from "../src/sql/operator.ts";
import { openBench, openClient, waiting } from "./support/bench.ts";

const program = fileURLToPath(new URL("../src/cli/command-line.ts", import.meta.url));
const interrupted = new AbortController().signal;

/** Removes the padding of a table. */
function compact(markdown: string): string {
  return markdown.replaceAll(/ +/g, " ").replaceAll(/-{3,}/g, "---");
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function spawned(url: string, ...args: readonly string[]): Promise<Ended> {
  const child = spawn(process.execPath, ["--conditions=@svc/source", program, ...args], {
    env: { ...process.env, DATABASE_URL: url },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  return { code, stdout, stderr };
}

describe("svc-jobs", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "job-commands" });
  let folder = "";
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "svc-jobs-"));
  });
  after(() => rm(folder, { recursive: true }));

  function run(...args: readonly string[]): Promise<Answer> {
    return runJobCommand(args, { databaseUrl: database.url, width: 60, interrupted });
  }

  it("JOB-12 JOB-31 lists dead jobs with their errors, and retries them", async () => {
    await using bench = await openBench(database.url);
    const at = ["--table", bench.table.name] as const;
    await bench.table.enqueueMany(
      ["a", "b"].map((id) => ({ id, task: "mail.send", availableAt: new Date(1e12) })),
    );
    for (const job of await bench.table.claim(2)) {
      await bench.table.fail(job, new Error(`no\nanswer \u001b[2J${"x".repeat(80)}`), { dead: true });
    }
    await bench.table.enqueue({ id: "c", task: "a" });
    expect((await run("stats", ...at)).text).to.equal("STATE    JOBS\npending  1\nrunning  0\ndead     2\n");
    const { text } = await run("dead", ...at, "--limit", "1");
    const [head = "", row = ""] = text.split("\n");
    expect(head).to.match(/^ID {2}TASK {7}ATTEMPTS {2}QUEUED \(UTC\) {6}ERROR$/);
    expect(row)
      .to.match(/^[ab] {3}mail\.send {2}1\/3 {7}\d{4}-\d\d-\d\d \d\d:\d\d {2}Error: no a.*\.\.\.$/)
      .and.to.have.lengthOf(60);
    expect(JSON.parse((await run("dead", ...at, "--json")).text)).to.have.lengthOf(2);
    expect(await run("retry", ...at, "a", "c")).to.deep.equal({
      text: "1 job(s) pending again\nc is not dead\n",
      exitCode: 1,
    });
    expect(await run("retry", ...at, "--all")).to.deep.equal({
      text: "1 job(s) pending again\n",
      exitCode: 0,
    });
    expect((await run("dead", ...at)).text).to.equal("no dead jobs\n");
    expect(JSON.parse((await run("stats", ...at, "--json")).text)).to.deep.equal({
      table: bench.table.name,
      pending: 3,
      running: 0,
      dead: 0,
    });
  });

  it("creates a table, queues jobs and runs them with handlers from a module", async () => {
    const file = join(folder, "handlers.mjs");
    await writeFile(file, "export function good() {} export default { bad() { throw new Error('no'); } };");
    const at = ["--table", "by_command"] as const;
    expect((await run("ensure", ...at)).text).to.equal("by_command: created\n");
    expect((await run("enqueue", ...at, "good", "--payload", '{"n":1}', "--id", "x")).text).to.equal("x\n");
    expect((await run("enqueue", ...at, "good", "--id", "x")).text).to.equal("x is already queued\n");
    await run("enqueue", ...at, "good", "--delay-seconds", "60");
    expect(await run("drain", ...at, "--handlers", file, "--json")).to.deep.equal({
      text: '{"done":1,"failed":0,"dead":0,"released":0,"lost":0}\n',
      exitCode: 0,
    });
    await run("enqueue", ...at, "bad", "--max-attempts", "1");
    await run("enqueue", ...at, "bad");
    // Delay the retry of a failed job by an hour, so that it does not run during the test.
    await using client = await openClient(database.url);
    await client.query(`create function put_off() returns trigger language plpgsql as
      $$ begin new.available_at := new.available_at + interval '1 hour'; return new; end $$;
      create trigger put_off before update on by_command for each row
        when (new.status = 'pending' and old.status = 'running') execute function put_off()`);
    const { text, exitCode } = await run("drain", ...at, "--handlers", file, "--concurrency", "1");
    expect(text).to.equal(
      "ENDED     JOBS\ndone      0\nfailed    1\ndead      1\nreleased  0\nlost      0\n",
    );
    expect(exitCode).to.equal(1);
  });

  it("drain --watch continues until it is interrupted, and accepts handlers exported by name", async () => {
    await using bench = await openBench(database.url);
    const file = join(folder, "named.mjs");
    await writeFile(file, "export function good() {}\nexport const version = 1;");
    await bench.table.enqueue({ task: "good" });
    const controller = new AbortController();
    const draining = runJobCommand(["drain", "--watch", "--table", bench.table.name, "--handlers", file], {
      databaseUrl: database.url,
      width: 80,
      interrupted: controller.signal,
    });
    while ((await bench.rows()).length > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    controller.abort();
    expect((await draining).text).to.include("done      1\n");
  });

  it("drain waits for a slow claim, so that no due job remains", async () => {
    await using bench = await openBench(database.url);
    await bench.table.enqueueMany([{ task: "good" }, { task: "good" }]);
    const file = join(folder, "slow.mjs");
    await writeFile(file, "export function good() {}");
    await using blocker = await openClient(database.url);
    await blocker.query(`create function wait_for_blocker() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(1); return new; end $$;
      create trigger wait before update on ${bench.table.name} for each row
        when (new.status = 'running') execute function wait_for_blocker();
      select pg_advisory_lock(1)`);
    const draining = run("drain", "--table", bench.table.name, "--handlers", file);
    const checks = new Set<string>();
    await until("two checks for due jobs during the claim", async () => {
      if ((await waiting(blocker)) === 0) return false;
      const { rows } = await blocker.query<{ start: string }>(
        `select query_start::text as start from pg_stat_activity
         where query like '%' || $1 || '%' and pid <> pg_backend_pid()`,
        [readySql(optionsOf("test", bench.table).quotedTable)],
      );
      for (const { start } of rows) checks.add(start);
      return checks.size >= 2;
    });
    await blocker.query("select pg_advisory_unlock(1)");
    expect(await draining).to.deep.include({ exitCode: 0 });
    expect(await bench.rows()).to.deep.equal([]);
  });

  it("drain fails when the module exits the process, hangs or throws, and prints no escape character", async () => {
    const modules = {
      "exits.mjs": "process.exit(0)",
      "waits.mjs": "await new Promise(() => {})",
      "red.mjs": "throw new Error('\\u001b[31mred')",
    };
    for (const [name, text] of Object.entries(modules)) {
      const file = join(folder, name);
      await writeFile(file, text);
      const { code, stderr } = await spawned(database.url, "drain", "--handlers", file);
      expect(code).to.equal(1);
      expect(stderr).to.include(
        name === "red.mjs" ? "could not be loaded: [31mred" : "the process ended before the command finished",
      );
    }
  });

  it("drain exits when its work is done, even if the module would keep the process alive", async () => {
    await using bench = await openBench(database.url);
    const file = join(folder, "holds.mjs");
    await writeFile(file, "setInterval(() => {}, 1000); export function t() {}");
    await bench.table.enqueue({ task: "t" });
    const { code, stdout } = await spawned(
      database.url,
      "drain",
      "--table",
      bench.table.name,
      "--handlers",
      file,
    );
    expect(code).to.equal(0);
    expect(stdout).to.include("done      1\n");
    expect(await bench.rows()).to.deep.equal([]);
  });

  it("lists dead jobs of a manually created table whose creation time is null or infinite", async () => {
    await using bench = await openBench(database.url);
    const { name } = bench.table;
    await bench.pool.query(`alter table ${name} alter created_at drop not null;
      insert into ${name} (id, task, status, created_at) values ('a', 'x', 'dead', null), ('b', 'x', 'dead', 'infinity')`);
    expect((await run("dead", "--table", name)).text.split("\n")).to.have.lengthOf(4);
    expect((await run("dead", "--table", name, "--json")).text).to.include('"id":"a"');
  });

  it("reports an invalid DATABASE_URL without showing its value", async () => {
    for (const url of ["secret", "host=127.0.0.1 password=secret", "mysql://ann:secret@127.0.0.1/x"]) {
      const error = await rejection(runJobCommand(["stats"], { databaseUrl: url, width: 80, interrupted }));
      expect(error).to.include({ code: "ERR_SVC_JOBS_USAGE" });
      expect(error.message)
        .to.match(/^DATABASE_URL must be a connection string/)
        .and.not.include("secret");
    }
    const { stderr } = await spawned("postgres://ann:secret@127.0.0.1:99999/x", "stats");
    expect(stderr).to.equal("svc-jobs: DATABASE_URL is not a connection string\n");
  });

  it("JOB-11 drain releases running jobs immediately at the second interrupt", async () => {
    await using bench = await openBench(database.url);
    const file = join(folder, "hangs.mjs");
    await writeFile(file, "export const hangs = () => new Promise(() => undefined);");
    await bench.table.enqueue({ task: "hangs" });
    const [once, twice] = [new AbortController(), new AbortController()];
    const draining = runJobCommand(["drain", "--table", bench.table.name, "--handlers", file], {
      databaseUrl: database.url,
      width: 80,
      interrupted: once.signal,
      insisted: twice.signal,
    });
    while ((await bench.rows())[0]?.status !== "running")
      await new Promise((resolve) => setTimeout(resolve, 20));
    once.abort();
    twice.abort();
    expect((await draining).text).to.include("released  1\n");
    expect((await bench.rows())[0]).to.include({ status: "pending", attempts: 0 });
  });

  it("reports failures without the password, and as JSON with --json", async () => {
    expect((await rejection(run("stats", "--table", "nowhere"))).message).to.include(
      '"nowhere" does not exist',
    );
    const numbers = join(folder, "numbers.mjs");
    await writeFile(numbers, "export function good() {} export default { bad: 5 };");
    const wrong = await rejection(run("drain", "--handlers", numbers));
    expect(wrong).to.include({ code: "ERR_SVC_JOBS_USAGE" });
    expect(wrong.message).to.include("numbers.mjs: the handler for bad must be a function");
    const empty = join(folder, "empty.mjs");
    await writeFile(empty, "export const version = 1;");
    expect(await rejection(run("drain", "--handlers", empty))).to.include({ code: "ERR_SVC_JOBS_USAGE" });
    expect((await rejection(run("drain", "--handlers", join(folder, "none.mjs")))).message).to.include(
      "could not be loaded",
    );
    const down = await spawned("postgres://ann:secret@127.0.0.1:9/none", "stats", "--json");
    expect(down).to.include({ code: 1, stdout: "" });
    expect(JSON.parse(down.stderr)).to.have.property("code", "ERR_SVC_JOBS");
    expect(down.stderr).not.to.include("secret");
  });

  it("prints help and a table, and exits with 2 for invalid arguments", async () => {
    await using bench = await openBench(database.url);
    const [help, wrong, stats] = await Promise.all([
      spawned(database.url, "--help"),
      spawned(database.url, "stat"),
      spawned(database.url, "stats", "--table", bench.table.name),
    ]);
    expect(help).to.include({ code: 0 });
    expect(help.stdout).to.match(/^Usage: svc-jobs/);
    expect(wrong).to.deep.equal({
      code: 2,
      stdout: "",
      stderr: "svc-jobs: stat is not a command; did you mean stats?\nrun svc-jobs --help for more\n",
    });
    expect(stats.stdout).to.equal("STATE    JOBS\npending  0\nrunning  0\ndead     0\n");
  });

  const wrong: readonly (readonly [string, string])[] = [
    ["--json", "a command is missing"],
    ["retry", "retry needs the ids of dead jobs, or --all"],
    ["retry a --all", "--all cannot be combined with ids"],
    ["stats x", "unexpected argument x"],
    ["stats --limit 1", "stats does not accept --limit"],
    ["dead --limit 0", "--limit must be a whole number from 1 to 10000"],
    ["enqueue", "enqueue needs the name of a task"],
    ["enqueue a --payload {", "--payload must be JSON"],
    [
      "enqueue a --payload [9007199254740993]",
      "--payload: payload[0] is an integer outside the safe range (-(2^53-1)..2^53-1); send it as a string",
    ],
    ["drain", "drain needs --handlers FILE"],
    ["stats --nonsense", "Unknown option '--nonsense'; expected one of --table, --limit"],
    ["stats --tabel a", "Unknown option '--tabel'; did you mean --table?"],
  ];
  for (const [line, message] of wrong) {
    it(`rejects \`${line}\``, () => {
      expect(() => svcJobs.parse(line.split(" "), { DATABASE_URL: database.url }))
        .to.throw(message)
        .with.property("code", "ERR_SVC_JOBS_USAGE");
    });
  }

  it("documents its commands and flags in the README", async () => {
    expect(compact(await readFile(new URL("../README.md", import.meta.url), "utf8"))).to.include(
      compact(svcJobs.markdown),
    );
  });

  it("requires DATABASE_URL", async () => {
    const error = await rejection(
      runJobCommand(["stats"], { databaseUrl: undefined, width: 80, interrupted }),
    );
    expect(error.message).to.include("DATABASE_URL must be the connection string");
  });
});
