import { spawn } from "node:child_process";
import { once } from "node:events";
import fs, { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { needsPostgres, type PostgresServer, startPostgres } from "@svc/dev-services";
import { expect } from "chai";
import { copyData } from "../src/initdb-template.ts";
import { childrenOf, isAlive } from "../src/processes.ts";
import { query } from "./support/query.ts";
import { rejection } from "./support/rejection.ts";
import { keptFolder } from "./support/kept-folder.ts";
import { until } from "./support/wait.ts";

describe("startPostgres", function () {
  this.timeout(60_000);
  needsPostgres();

  it("starts a server on 127.0.0.1 without root, and removes its folder when it stops", async () => {
    const server = await startPostgres({ purpose: "test" });
    expect(await query(server.url, "select 1 as one")).to.deep.equal([{ one: 1 }]);
    expect(await query(server.url, "show listen_addresses")).to.deep.equal([
      { listen_addresses: "127.0.0.1" },
    ]);
    expect(await query(server.url, "show unix_socket_directories")).to.deep.equal([
      { unix_socket_directories: "" },
    ]);
    expect(await query(server.url, "show fsync")).to.deep.equal([{ fsync: "off" }]);
    expect(await query(server.url, "show server_encoding")).to.deep.equal([{ server_encoding: "UTF8" }]);
    // Shared memory in `/dev/shm` would remain after the server is killed, so an in-memory server keeps it in its
    // folder.
    const [shared] = await query(server.url, "show dynamic_shared_memory_type");
    expect(Object.values(shared ?? {})[0] === "mmap").to.equal(server.folder.startsWith("/dev/shm/"));
    await server.stop();
    expect(existsSync(server.folder)).to.equal(false);
    expect(() => process.kill(server.pid, 0)).to.throw("ESRCH");
  });

  it("runs initdb once in a test run, and again for a server with a password", async function () {
    if (process.platform === "win32") return this.skip();
    const { SVC_TEST_RUN: run } = process.env;
    await using folder = keptFolder();
    process.env.SVC_TEST_RUN = folder.path;
    try {
      const system = "select system_identifier::text as id from pg_control_system()";
      const ids: unknown[] = [];
      for (const [n, password] of [undefined, undefined, "secret"].entries()) {
        // The servers share a template only if all are on the disk or all in memory.
        const dataDir = join(folder.path, `server-${n}`);
        mkdirSync(dataDir, { mode: 0o711 });
        await using server = await startPostgres({ purpose: "test", password, dataDir });
        ids.push((await query(server.url, system))[0]?.["id"]);
      }
      expect(ids[1]).to.equal(ids[0]);
      expect(ids[2]).not.to.equal(ids[0]);
      expect(readdirSync(folder.path).filter((name) => name.startsWith("initdb-"))).to.have.lengthOf(1);
    } finally {
      if (run === undefined) delete process.env.SVC_TEST_RUN;
      else process.env.SVC_TEST_RUN = run;
    }
  });

  it("leaves no partial folder when its data cannot be copied", async () => {
    await using folder = keptFolder();
    const to = join(folder.path, "copy");
    mkdirSync(to);
    expect(() => copyData(join(folder.path, "missing"), to)).to.throw("could not be copied");
    expect(existsSync(to)).to.equal(false);
  });

  it("stops the watchdog when the folder of the server cannot be created", async () => {
    const before = new Set(childrenOf(process.pid));
    const { mkdtempSync } = fs;
    const began: number[] = [];
    fs.mkdtempSync = (() => {
      began.push(...childrenOf(process.pid).filter((pid) => !before.has(pid)));
      throw new Error("the disk is full");
    }) as unknown as typeof mkdtempSync;
    syncBuiltinESMExports();
    try {
      expect((await rejection(startPostgres({ purpose: "test" }))).message).to.equal("the disk is full");
    } finally {
      fs.mkdtempSync = mkdtempSync;
      syncBuiltinESMExports();
    }
    if (process.platform !== "win32") expect(began).to.have.lengthOf(1);
    await until("it is gone", () => !began.some(isAlive));
  });

  it("keeps the demo's data across a restart, with fsync on", async () => {
    await using folder = keptFolder();
    const options = { purpose: "demo", dataDir: folder.path, database: "expenses" } as const;
    const first = await startPostgres(options);
    await query(first.url, "create table kept as select 42 as answer");
    await first.stop();
    await using second = await startPostgres(options);
    expect(second.joined).to.equal(false);
    expect(await query(second.url, "select answer from kept")).to.deep.equal([{ answer: 42 }]);
    expect(await query(second.url, "show fsync")).to.deep.equal([{ fsync: "on" }]);
  });

  it("joins a server that already runs in the folder, and leaves it running for the other process", async () => {
    await using folder = keptFolder();
    await using first = await startPostgres({ purpose: "demo", dataDir: folder.path });
    const second = await startPostgres({ purpose: "demo", dataDir: folder.path });
    expect(second.joined).to.equal(true);
    expect(second.pid).to.equal(first.pid);
    const { message } = await rejection(second.restart());
    expect(message).to.equal("only the process that started a server can restart it");
    await second.stop();
    expect(await query(first.url, "select 1 as one")).to.deep.equal([{ one: 1 }]);
  });

  it("starts a server although another process has reused the id in postmaster.pid, and leaves that process alone", async () => {
    await using folder = keptFolder();
    const options = { purpose: "demo", dataDir: folder.path } as const;
    await (await startPostgres(options)).stop();
    const stranger = spawn("sleep", ["600"]);
    const file = join(folder.path, "data", "postmaster.pid");
    writeFileSync(file, `${stranger.pid}\n${join(folder.path, "data")}\n0\n5432\n`);
    await using server = await startPostgres(options);
    expect(await query(server.url, "select 1 as one")).to.deep.equal([{ one: 1 }]);
    expect(stranger.exitCode ?? stranger.signalCode).to.equal(null);
    stranger.kill("SIGKILL");
    await once(stranger, "exit");
  });

  it("removes partial data from an interrupted start", async () => {
    await using folder = keptFolder();
    mkdirSync(join(folder.path, "init-1"), { recursive: true });
    writeFileSync(join(folder.path, "init-1", "half"), "");
    await using server = await startPostgres({ purpose: "demo", dataDir: folder.path });
    expect(readdirSync(server.folder).filter((name) => name.startsWith("init-"))).to.deep.equal([]);
  });

  it("requires the given password", async () => {
    await using server = await startPostgres({ purpose: "test", password: "p@ss/word" });
    expect(await query(server.url, "select 1 as one")).to.deep.equal([{ one: 1 }]);
    const { message } = await rejection(query(server.url.replace("p%40ss%2Fword", "wrong"), "select 1"));
    expect(message).to.contain("password authentication failed");
  });

  it("PORT-5 rejects with a message when its port is taken", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const { port } = taken.address() as AddressInfo;
    const { message } = await rejection(startPostgres({ purpose: "test", port }));
    taken.close();
    expect(message).to.equal(`port ${port} on 127.0.0.1, needed for PostgreSQL, is taken`);
  });

  it("reports data from another PostgreSQL version, and the remedy", async () => {
    await using folder = keptFolder();
    mkdirSync(join(folder.path, "data"), { recursive: true });
    writeFileSync(join(folder.path, "data", "PG_VERSION"), "9\n");
    const { message } = await rejection(startPostgres({ purpose: "demo", dataDir: folder.path }));
    expect(message).to.contain("contains data of PostgreSQL 9").and.to.contain("remove the folder");
  });

  it("reports the server's log when the server does not start", async () => {
    const { message } = await rejection(
      startPostgres({ purpose: "test", settings: { shared_preload_libraries: "no_such_library" } }),
    );
    expect(message).to.contain("did not start").and.to.contain("no_such_library");
  });

  describe("faults of a test server", () => {
    let server: PostgresServer;
    before(async () => {
      server = await startPostgres({ purpose: "test" });
    });
    after(() => server.stop());

    it("pause() freezes the server until resume()", async () => {
      server.pause();
      const answer = query(server.url, "select 1 as one");
      const first = await Promise.race([
        answer,
        new Promise((resolve) => setTimeout(resolve, 300, "nothing")),
      ]);
      expect(first).to.equal("nothing");
      server.resume();
      expect(await answer).to.deep.equal([{ one: 1 }]);
    });

    it("kill() ends the server, and restart() starts it on the same port", async () => {
      const { pid, port } = server;
      await server.kill();
      expect((await rejection(query(server.url, "select 1"))).message).to.contain("ECONNREFUSED");
      await server.restart();
      expect(await query(server.url, "select 1 as one")).to.deep.equal([{ one: 1 }]);
      expect(server.pid).not.to.equal(pid);
      expect(server.port).to.equal(port);
    });

    it("restart() starts a frozen server again", async () => {
      server.pause();
      await server.restart();
      expect(await query(server.url, "select 1 as one")).to.deep.equal([{ one: 1 }]);
    });
  });
});
