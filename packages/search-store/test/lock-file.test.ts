import { type ChildProcess, spawn } from "node:child_process";
import { hash } from "node:crypto";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbedded } from "@svc/search-store/pglite";
import { expect } from "chai";
import { lockFolder } from "../src/embedded/lock-file.ts";
import { loadPglite } from "../src/embedded/peers.ts";
import { createTurns } from "../src/embedded/turns.ts";
import { loadCopyStreams } from "../src/bulk/sinks.ts";
import { failureOf } from "./support/failure.ts";

const SOURCE = new URL("../src/embedded/lock-file.ts", import.meta.url).href;
const EMBEDDED = "ERR_SVC_SEARCH_EMBEDDED";

// The lock file of a process that has ended: its process id is above the largest possible id.
const gone = (token: string): string => JSON.stringify({ pid: 2 ** 22 + 1, host: hostname(), token });
// The lock file of a running process.
const running = (token: string): string => JSON.stringify({ pid: process.ppid, host: hostname(), token });
const successor = (file: string, token: string): string => `${file}.${hash("sha256", token).slice(0, 16)}`;

describe("the folder of an embedded database", () => {
  let folder: string;
  let data: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-embedded-"));
    data = join(folder, "data");
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("can be locked by one caller at a time", async () => {
    const unlock = await lockFolder(data);
    const error = await failureOf(openEmbedded({ dataDir: data }));
    expect(error).to.include({ code: EMBEDDED });
    expect(error.message).to.contain(`process ${process.pid} on ${hostname()} has the folder open`);
    expect(existsSync(data), "nothing was begun").to.equal(false);
    await unlock();
    await unlock();
    expect(existsSync(`${data}.lock`)).to.equal(false);
    await (
      await lockFolder(data)
    )();
  });

  it("stays locked by another process until that process ends or is killed", async () => {
    const code = `import { lockFolder } from ${JSON.stringify(SOURCE)};
      await lockFolder(${JSON.stringify(data)}); process.stdout.write("held"); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      await once(child.stdout, "data");
      const error = await failureOf(lockFolder(data));
      expect(error.message).to.contain(`process ${child.pid} on ${hostname()}`);
    } finally {
      child.kill("SIGKILL");
    }
    await once(child, "exit");
    const [first, second] = await Promise.allSettled([lockFolder(data), lockFolder(data)]);
    expect([first.status, second.status].toSorted()).to.deep.equal(["fulfilled", "rejected"]);
    for (const each of [first, second]) if (each.status === "fulfilled") await each.value();
  });

  // Leaves, in turn, no lock, an abandoned lock, and abandoned locks with one and with two abandoned takeovers.
  const leave = (round: number): void => {
    const tokens = [`${round}`, `../${round}`, `${round}\0`].slice(0, round % 4);
    let file = `${data}.lock`;
    for (const token of tokens) {
      writeFileSync(file, gone(token));
      file = successor(file, token);
    }
  };

  it("is locked by exactly one of eight callers that find an abandoned lock at the same time", async function () {
    this.timeout(60_000);
    for (let round = 0; round < 100; round++) {
      leave(round);
      const all = await Promise.allSettled(Array.from({ length: 8 }, () => lockFolder(data)));
      const mine = all.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
      expect(mine, `round ${round}`).to.have.length(1);
      expect(readdirSync(folder), `round ${round}`).to.deep.equal(["data.lock"]);
      await mine[0]?.();
      expect(readdirSync(folder), `round ${round}`).to.deep.equal([]);
    }
  });

  it("is locked by exactly one of four processes that find an abandoned lock at the same time", async function () {
    this.timeout(60_000);
    const code = `import { lockFolder } from ${JSON.stringify(SOURCE)};
      let unlock;
      process.on("message", async (wanted) => {
        if (!wanted) await unlock();
        else unlock = await lockFolder(${JSON.stringify(data)}).catch(({ code }) => code);
        process.send(typeof unlock === "string" ? unlock : "held");
      });
      process.send("ready");`;
    const children = Array.from({ length: 4 }, () =>
      spawn(process.execPath, ["--input-type=module", "-e", code], {
        stdio: ["ignore", "inherit", "inherit", "ipc"],
      }),
    );
    try {
      await Promise.all(children.map((child) => once(child, "message")));
      for (let round = 0; round < 150; round++) {
        leave(round);
        const said = await Promise.all(children.map((child) => ask(child, true)));
        expect(said.toSorted(), `round ${round}`).to.deep.equal([EMBEDDED, EMBEDDED, EMBEDDED, "held"]);
        const holder = children[said.indexOf("held")] as ChildProcess;
        expect(readdirSync(folder), `round ${round}`).to.deep.equal(["data.lock"]);
        expect(JSON.parse(readFileSync(`${data}.lock`, "utf8"))).to.include({ pid: holder.pid });
        await ask(holder, false);
        expect(readdirSync(folder), `round ${round}`).to.deep.equal([]);
      }
    } finally {
      for (const child of children) child.kill("SIGKILL");
    }
  });

  it("is not taken over if another process has already taken it over or is taking it over", async () => {
    const file = `${data}.lock`;
    const mark = successor(file, "left");
    const kill = process.kill.bind(process);
    // Returns the error of lockFolder() when `change` runs between its two reads of the lock file.
    const meanwhile = async (change: () => void): Promise<Error & { code?: unknown }> => {
      writeFileSync(file, gone("left"));
      process.kill = () => {
        process.kill = kill;
        change();
        throw Object.assign(new Error("no such process"), { code: "ESRCH" });
      };
      try {
        return await failureOf(lockFolder(data));
      } finally {
        process.kill = kill;
      }
    };
    const faster = await meanwhile(() => writeFileSync(file, running("other")));
    expect(faster).to.include({ code: EMBEDDED });
    expect(faster.message).to.contain(`process ${process.ppid} on ${hostname()}`);
    expect(readFileSync(file, "utf8")).to.equal(running("other"));
    expect(readdirSync(folder), "what it made itself is gone").to.deep.equal(["data.lock"]);

    expect(await meanwhile(() => rmSync(file))).to.include({ code: EMBEDDED });
    expect(readdirSync(folder)).to.deep.equal([]);

    for (const text of [running("other"), ""]) {
      const busy = await meanwhile(() => writeFileSync(mark, text));
      expect(busy).to.include({ code: EMBEDDED });
      expect(busy.message.endsWith(`If that process has ended, delete ${mark}`), busy.message).to.equal(true);
      expect([readFileSync(file, "utf8"), readFileSync(mark, "utf8")]).to.deep.equal([gone("left"), text]);
      rmSync(mark);
      await (
        await lockFolder(data)
      )();
      expect(readdirSync(folder)).to.deep.equal([]);
    }
  });

  it("is taken over from an earlier process with the same id", async () => {
    writeFileSync(`${data}.lock`, JSON.stringify({ pid: process.pid, host: hostname(), token: "x" }));
    const unlock = await lockFolder(data);
    expect((await failureOf(lockFolder(data))).message).to.contain(`process ${process.pid} on`);
    await unlock();
    expect(readdirSync(folder)).to.deep.equal([]);
  });

  it("stays locked by a process that took it over before its previous holder released it", async () => {
    const unlock = await lockFolder(data);
    writeFileSync(`${data}.lock`, running("other"));
    await unlock();
    expect(readFileSync(`${data}.lock`, "utf8")).to.equal(running("other"));
    rmSync(`${data}.lock`);
    await unlock();
  });

  it("stays locked by a process on another host, and by a file that is not a lock file", async () => {
    for (const text of [
      JSON.stringify({ pid: 2 ** 22 + 1, host: `not-${hostname()}`, token: "x" }),
      "",
      "{}",
      "null",
    ]) {
      writeFileSync(`${data}.lock`, text);
      const error = await failureOf(lockFolder(data));
      expect(error.code).to.equal(EMBEDDED);
      expect(error.message).to.contain(`delete ${data}.lock`);
      expect(readFileSync(`${data}.lock`, "utf8")).to.equal(text);
    }
    rmSync(`${data}.lock`);
    mkdirSync(`${data}.lock`);
    expect(await failureOf(lockFolder(data)), "what the system says of it").to.include({ code: "EISDIR" });
  });

  it("is rejected if dataDir is a URL or another invalid path", async () => {
    for (const dataDir of ["memory://", "idb://x", "", 5, "a\0b"]) {
      const error = await failureOf(openEmbedded({ dataDir } as { dataDir: string }));
      expect(error.name, String(dataDir)).to.equal("ConfigurationError");
    }
    const error = await failureOf(openEmbedded({ folder: "x" } as { dataDir?: string }));
    expect(error.name).to.equal("ConfigurationError");
  });
});

async function ask(child: ChildProcess, wanted: boolean): Promise<string> {
  const answer = once(child, "message");
  child.send(wanted);
  return String((await answer)[0]);
}

describe("createTurns()", () => {
  it("lets one caller proceed at a time, in the order of the requests", async () => {
    const turns = createTurns(10_000);
    const order: number[] = [];
    let busy = 0;
    await Promise.all(
      [1, 2, 3].map(async (each) => {
        const end = await turns.take();
        busy += 1;
        expect(busy).to.equal(1);
        order.push(each);
        await new Promise(setImmediate);
        busy -= 1;
        end();
        end();
      }),
    );
    expect(order).to.deep.equal([1, 2, 3]);
  });

  it("rejects a request that waits too long, and removes it from the queue", async () => {
    const turns = createTurns(10);
    const end = await turns.take();
    const error = await failureOf(turns.take());
    expect(error).to.include({ code: EMBEDDED });
    expect(error.message).to.match(/busy for 10 ms: another caller holds its only connection/);
    end();
    (await turns.take())();
  });
});

describe("a package that is not installed", () => {
  it("is named in the error, with the command that installs it", async () => {
    const cause = new Error("Cannot find package");
    const missing = (): Promise<never> => Promise.reject(cause);
    const pglite = await failureOf(loadPglite(missing));
    expect(pglite).to.include({ code: "ERR_SVC_SEARCH_PEER", cause });
    expect(pglite.message).to.contain("npm install @electric-sql/pglite @electric-sql/pglite-pgvector");
    const streams = await failureOf(loadCopyStreams(missing));
    expect(streams).to.include({ code: "ERR_SVC_SEARCH_PEER", cause });
    expect(streams.message).to.contain("npm install pg-copy-streams");
  });
});
