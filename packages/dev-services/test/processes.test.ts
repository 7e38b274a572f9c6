import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { needsPostgres, startPostgres, testProgram } from "@svc/dev-services";
import { expect } from "chai";
import { childrenOf, isAlive } from "../src/processes.ts";
import { hold, type Holder } from "./support/hold.ts";
import { keptFolder } from "./support/kept-folder.ts";
import { query } from "./support/query.ts";
import { until } from "./support/wait.ts";

describe("a server's processes", function () {
  this.timeout(120_000);
  needsPostgres();

  it("stop, and their folder is removed, when the starting process is killed", async () => {
    await using holder = await hold("postgres", { purpose: "test" });
    const { pid, folder } = holder.held as { pid: number; folder: string };
    expect(isAlive(pid)).to.equal(true);
    await holder.kill("SIGKILL");
    await until("the server is gone", () => !isAlive(pid));
    await until("its folder is gone", () => !existsSync(folder));
  });

  it("stop when the starting process is killed while the server is frozen", async () => {
    await using holder = await hold("postgres", { purpose: "test" });
    const { pid } = holder.held as { pid: number };
    process.kill(pid, "SIGSTOP");
    await holder.kill("SIGKILL");
    await until("the server is gone", () => !isAlive(pid));
  });

  it("are frozen with all their threads once pause() returns", async function () {
    // Only Linux has /proc, which shows the state of each thread.
    if (process.platform !== "linux") this.skip();
    await using server = await startPostgres({ purpose: "test" });
    const { pid } = server;
    const states = (): string[] =>
      [pid, ...childrenOf(pid)].flatMap((each) =>
        readdirSync(`/proc/${each}/task`).map(
          (thread) => /\) (\w)/.exec(readFileSync(`/proc/${each}/task/${thread}/stat`, "utf8"))?.[1] ?? "",
        ),
      );
    for (let round = 0; round < 20; round++) {
      const asked = query(server.url, "select count(*) from generate_series(1, 100000)");
      server.pause();
      expect(states().filter((state) => state !== "T" && state !== "Z")).to.deep.equal([]);
      server.resume();
      await asked;
    }
  });

  it("keep the demo's data when the starting process is killed", async () => {
    await using folder = keptFolder();
    const options = { purpose: "demo", dataDir: folder.path } as const;
    const holder = await hold("postgres", options);
    const { url, pid } = holder.held as { url: string; pid: number };
    await query(url, "create table kept as select 42 as answer");
    await holder.kill("SIGKILL");
    await until("the server is gone", () => !isAlive(pid));
    await using server = await startPostgres(options);
    expect(await query(server.url, "select answer from kept")).to.deep.equal([{ answer: 42 }]);
  });

  it("are stopped by the next start when the watchdog was killed too", async () => {
    await using folder = keptFolder();
    const options = { purpose: "demo", dataDir: folder.path } as const;
    const holder = await hold("postgres", options);
    const { pid } = holder.held as { pid: number };
    const watchdogs = childrenOf(holder.child.pid ?? 0).filter((child) => child !== pid);
    expect(watchdogs).to.have.lengthOf(1);
    for (const watchdog of watchdogs) process.kill(watchdog, "SIGKILL");
    await holder.kill("SIGKILL");
    expect(isAlive(pid)).to.equal(true);
    await using server = await startPostgres(options);
    expect(isAlive(pid)).to.equal(false);
    expect(await query(server.url, "select 1 as one")).to.deep.equal([{ one: 1 }]);
  });

  it("serve 8 test processes, each with its own database on one server, and stop after the last test process ends", async () => {
    const run = mkdtempSync(join(tmpdir(), "svc-test-"));
    const env = { ...process.env, SVC_TEST_RUN: run, SVC_TEST_DATABASE_URL: "" };
    const holders = await Promise.all(Array.from({ length: 8 }, () => hold("database", {}, { env })));
    try {
      const urls = holders.map(({ held }) => new URL(String(held.url)));
      expect(new Set(urls.map(({ port }) => port)).size).to.equal(1);
      expect(new Set(urls.map(({ pathname }) => pathname)).size).to.equal(8);
      const [last, ...others] = holders as [Holder, ...Holder[]];
      const [row] = await query(
        String(last.held.url),
        "select pg_backend_pid() as pid, current_database() as name",
      );
      expect(`/${String(row?.name)}`).to.equal(urls[0]?.pathname);
      await Promise.all(others.map((holder) => holder.kill("SIGKILL")));
      expect(await query(String(last.held.url), "select 1 as one")).to.deep.equal([{ one: 1 }]);
      await last.kill("SIGKILL");
      await until("the server is gone", () =>
        query(String(last.held.url), "select 1").then(
          () => false,
          () => true,
        ),
      );
      await until("its note is gone", () => !existsSync(join(run, "postgres.json")));
    } finally {
      await Promise.all(holders.map((holder) => holder.kill("SIGKILL")));
      rmSync(run, { recursive: true, force: true });
    }
  });

  describe("isAlive()", () => {
    const python = testProgram("python");

    it("returns true while a thread runs, even after the main thread has ended", async function () {
      // Only on Linux can isAlive() distinguish this process from one that has ended.
      if (process.platform !== "linux") this.skip();
      const code = `import ctypes, sys, threading
threading.Thread(target=sys.stdin.read).start()
ctypes.CDLL(None).pthread_exit(None)`;
      const child = spawn(python.path, ["-c", code], { stdio: ["pipe", "ignore", "ignore"] });
      const pid = child.pid ?? 0;
      const stat = (): string => readFileSync(`/proc/${pid}/stat`, "utf8");
      await until("its first thread has ended", () => /\) Z .* 2 0 \d+ /.test(stat()));
      expect(isAlive(pid)).to.equal(true);
      child.stdin.end();
      await once(child, "exit");
      expect(isAlive(pid)).to.equal(false);
    });
  });

  // Only root needs this test: when a normal user runs the tests, all of them cover this case.
  const checkout = import.meta.dirname;
  if (process.getuid?.() === 0 && everybodyMayRead(checkout)) {
    it("run under the account of the normal user who starts them", async () => {
      const home = mkdtempSync(join(tmpdir(), "svc-home-"));
      const who = { uid: 65_534, gid: 65_534 };
      chmodSync(home, 0o777);
      const env = { PATH: process.env.PATH, HOME: home, TMPDIR: home };
      try {
        await using holder = await hold("postgres", { purpose: "test" }, { ...who, env, cwd: home });
        const { url, uid, folder, pid } = holder.held as {
          url: string;
          uid: number;
          folder: string;
          pid: number;
        };
        expect(uid).to.equal(65_534);
        expect(statSync(join(folder, "data")).uid).to.equal(65_534);
        expect(await query(url, "select 1 as one")).to.deep.equal([{ one: 1 }]);
        await holder.kill("SIGKILL");
        await until("the server is gone", () => !isAlive(pid));
        await until("its folder is gone", () => !existsSync(folder));
      } finally {
        rmSync(home, { recursive: true, force: true });
      }
    });
  }
});

function everybodyMayRead(folder: string): boolean {
  accessSync(folder, constants.R_OK);
  for (let at = folder; ; at = dirname(at)) {
    if ((statSync(at).mode & 0o005) !== 0o005) return false;
    if (dirname(at) === at) return true;
  }
}
