import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { openEmbedded } from "@svc/search-store/pglite";
import { expect } from "chai";
import { lockFolder } from "../src/embedded/lock-file.ts";
import { loadPglite } from "../src/embedded/peers.ts";
import { createTurns } from "../src/embedded/turns.ts";
import { loadCopyStreams } from "../src/bulk/sinks.ts";
import { failureOf } from "./support/failure.ts";

const EMBEDDED = "ERR_SVC_SEARCH_EMBEDDED";

describe("the folder of an embedded database", () => {
  let folder: string;
  let data: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "svc-embedded-"));
    data = join(folder, "data");
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it("is one opener's at a time, and the next one's after that", async () => {
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

  it("is another process's until that ends, however it ends", async () => {
    const source = new URL("../src/embedded/lock-file.ts", import.meta.url).href;
    const code = `import { lockFolder } from ${JSON.stringify(source)};
      await lockFolder(${JSON.stringify(data)}); process.stdout.write("held"); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", code], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    const error = await failureOf(lockFolder(data));
    expect(error.message).to.contain(`process ${child.pid} on ${hostname()}`);
    child.kill("SIGKILL");
    await once(child, "exit");
    const [first, second] = await Promise.allSettled([lockFolder(data), lockFolder(data)]);
    expect([first.status, second.status].toSorted()).to.deep.equal(["fulfilled", "rejected"]);
    for (const each of [first, second]) if (each.status === "fulfilled") await each.value();
  });

  it("is one's of many who find it left behind at the same moment, again and again", async () => {
    // No process has such a number.
    const left = JSON.stringify({ pid: 2 ** 22 + 1, host: hostname(), token: "x" });
    for (let round = 0; round < 100; round++) {
      writeFileSync(`${data}.lock`, left);
      const all = await Promise.allSettled(Array.from({ length: 8 }, () => lockFolder(data)));
      const mine = all.flatMap((each) => (each.status === "fulfilled" ? [each.value] : []));
      expect(mine, `round ${round}`).to.have.length(1);
      expect(readdirSync(folder), `round ${round}`).to.deep.equal(["data.lock"]);
      await mine[0]?.();
    }
  });

  it("is left to another computer, and to what is no lock file", async () => {
    for (const text of [
      JSON.stringify({ pid: 1, host: `not-${hostname()}`, token: "x" }),
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
  });

  it("is a folder, and no address", async () => {
    for (const dataDir of ["memory://", "idb://x", "", 5, "a\0b"]) {
      const error = await failureOf(openEmbedded({ dataDir } as { dataDir: string }));
      expect(error.name, String(dataDir)).to.equal("ConfigurationError");
    }
    const error = await failureOf(openEmbedded({ folder: "x" } as { dataDir?: string }));
    expect(error.name).to.equal("ConfigurationError");
  });
});

describe("turns", () => {
  it("come in the order in which they were asked for, one at a time", async () => {
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

  it("are waited for no longer than allowed, and a place in the line is given up then", async () => {
    const turns = createTurns(10);
    const end = await turns.take();
    const error = await failureOf(turns.take());
    expect(error).to.include({ code: EMBEDDED });
    expect(error.message).to.match(/busy for 10 ms: it has one connection/);
    end();
    (await turns.take())();
  });
});

describe("a package that is not installed", () => {
  it("is named, with the command that installs it", async () => {
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
