import { execFile, spawnSync } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { testProgram } from "@svc/dev-services";
import { expect } from "chai";
import type { Attempt } from "../src/attempts.ts";
import { programs } from "../src/programs.ts";
import { unpack } from "../src/unpack.ts";

const server = { title: "Server", files: ["svc-server"], package: "svc-server", unpacked: ["svc-server"] };

let folder: string;

/** Gives every test in a `describe` its own temporary folder. */
function useFolder(): void {
  beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), "svc-unpack-"))));
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
}

/** Creates fake Debian programs that record their calls. */
function standIns(scripts: Readonly<Record<"apt-get" | "dpkg" | "ldd", string>>): NodeJS.ProcessEnv {
  const bin = join(folder, "bin");
  mkdirSync(bin);
  for (const [name, script] of Object.entries(scripts))
    writeFileSync(join(bin, name), `#!/bin/sh\necho "${name} $*" >>"${folder}/calls"\n${script}\n`, {
      mode: 0o755,
    });
  return { PATH: `${bin}:/usr/bin:/bin` };
}

function calls(): readonly string[] {
  const file = join(folder, "calls");
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n") : [];
}

const downloads = `case "$*" in *download*) for name; do :; done; touch "$name.deb" ;;
*) echo "Inst libone1 (1.0 Debian)"; echo "Inst libjs-two (1.0 Debian)"; echo "Inst three (1.0 Debian)" ;; esac`;
const unpacks = `case "$2" in
svc-server.deb) mkdir -p usr/bin; printf '#!/bin/sh\\necho "libraries: $LD_LIBRARY_PATH"\\n' >usr/bin/svc-server; chmod 755 usr/bin/svc-server ;;
*) mkdir -p usr/lib/x; touch usr/lib/x/libone.so.1 ;; esac`;

function attempt(env: NodeJS.ProcessEnv): { readonly path: string | undefined; readonly reasons: string[] } {
  const attempts: Attempt[] = [];
  const path = unpack(server, attempts, { env, cache: join(folder, "cache") });
  return { path, reasons: attempts.map(({ rung, reason }) => `${rung}: ${reason}`) };
}

describe("unpack()", () => {
  useFolder();

  it("downloads and unpacks a package once, and removes all temporary files", () => {
    const env = standIns({ "apt-get": downloads, dpkg: unpacks, ldd: "true" });
    const { path, reasons } = attempt(env);
    expect(reasons).to.deep.equal([]);
    expect(spawnSync(path ?? "", { encoding: "utf8", env: {} }).stdout).to.equal("libraries: \n");
    const called = calls().length;
    expect(attempt(env).path).to.equal(path);
    expect(calls()).to.have.length(called);
    const release = join(folder, "cache", readdirSync(join(folder, "cache"))[0] ?? "");
    expect(readdirSync(release)).to.deep.equal(["svc-server"]);
    expect(readdirSync(join(release, "svc-server"))).to.have.members(["usr", "run"]);
  });

  it("also unpacks the library packages that apt-get would install, when ldd reports a missing library", () => {
    const env = standIns({
      "apt-get": downloads,
      dpkg: unpacks,
      ldd: `echo "libone.so.1 => not found"`,
    });
    const { path } = attempt(env);
    expect(spawnSync(path ?? "", { encoding: "utf8", env: {} }).stdout).to.match(
      /^libraries: \/.*\/svc-server\/usr\/lib\/x\n$/,
    );
    expect(calls().filter((call) => call.includes(" download "))).to.have.length(2);
    expect(calls().at(-1)).to.match(/^dpkg -x libone1\.deb \.$/);
  });

  it("reports why a package cannot be downloaded, and runs apt-get only once per test run", () => {
    const env = standIns({
      "apt-get": `echo "E: Unable to locate package svc-server" >&2; exit 100`,
      dpkg: "true",
      ldd: "true",
    });
    const expected = {
      path: undefined,
      reasons: ["apt-get download svc-server: Unable to locate package svc-server"],
    };
    expect(attempt(env)).to.deep.equal(expected);
    expect(attempt(env)).to.deep.equal(expected);
    expect(calls()).to.have.length(1);
    const [note = ""] = globSync("cache/*/svc-server.json", { cwd: folder });
    writeFileSync(join(folder, note), JSON.stringify({ run: "the run before", reason: "" }));
    expect(attempt(env)).to.deep.equal(expected);
    expect(calls()).to.have.length(2);
  });

  it("unpacks when the record of an earlier failure is truncated", () => {
    const env = standIns({ "apt-get": downloads, dpkg: unpacks, ldd: "true" });
    mkdirSync(join(folder, "cache"), { mode: 0o700 });
    writeFileSync(join(folder, "cache", "offline.json"), '{"run":"a');
    expect(attempt(env)).to.deep.include({ reasons: [] });
  });

  it("does not try another package in the same test run after the mirror was unreachable", () => {
    const env = standIns({
      "apt-get": `echo "E: Failed to fetch svc-server: could not connect" >&2; exit 100`,
      dpkg: "true",
      ldd: "true",
    });
    expect(attempt(env).reasons).to.have.length(1);
    const attempts: Attempt[] = [];
    const other = { ...server, package: "svc-other", unpacked: ["svc-other"] };
    expect(unpack(other, attempts, { env, cache: join(folder, "cache") })).to.equal(undefined);
    expect(attempts[0]?.reason).to.equal("Failed to fetch svc-server: could not connect");
    expect(calls()).to.have.length(1);
  });

  it("reports an unpacked program that fails to start, and removes its files", () => {
    const env = standIns({
      "apt-get": downloads,
      dpkg: `mkdir -p usr/bin; printf '#!/bin/sh\\nexit 3\\n' >usr/bin/svc-server; chmod 755 usr/bin/svc-server`,
      ldd: "true",
    });
    expect(attempt(env)).to.deep.equal({
      path: undefined,
      reasons: ["apt-get download svc-server: svc-server failed to start after unpacking"],
    });
    expect(attempt(env).path).to.equal(undefined);
  });

  it("reports the Debian tool that is not on PATH, and does not create the cache folder", () => {
    const { reasons } = attempt({ PATH: join(folder, "bin") });
    expect(reasons).to.deep.equal(["apt-get download svc-server: apt-get is not on PATH"]);
    expect(existsSync(join(folder, "cache"))).to.equal(false);
  });

  it("unpacks in one of several concurrent processes while the others wait", async () => {
    const env = standIns({ "apt-get": `sleep 0.2\n${downloads}`, dpkg: unpacks, ldd: "true" });
    const code = `import { unpack } from ${JSON.stringify(new URL("../src/unpack.ts", import.meta.url))};
console.log(unpack(${JSON.stringify(server)}, [], { env: ${JSON.stringify(env)}, cache: ${JSON.stringify(join(folder, "cache"))} }));`;
    const execute = promisify(execFile);
    const all = await Promise.all(
      [1, 2, 3].map(() => execute(process.execPath, ["--input-type=module", "-e", code])),
    );
    const paths = new Set(all.map(({ stdout }) => stdout));
    expect([...paths]).to.deep.equal([`${attempt(env).path}\n`]);
    expect(calls().filter((call) => call.includes(" download "))).to.have.length(1);
  });

  it("stops a download that exceeds its time limit, and then does not try another package", () => {
    const env = standIns({ "apt-get": "sleep 5", dpkg: "true", ldd: "true" });
    const reasons = ["svc-server", "svc-other"].map((name) => {
      const attempts: Attempt[] = [];
      const wanted = { ...server, package: name };
      unpack(wanted, attempts, { env, cache: join(folder, "cache"), downloadMs: 200 });
      return attempts.map(({ reason }) => reason);
    });
    expect(reasons).to.deep.equal([["did not end within 0.2 s"], ["did not end within 0.2 s"]]);
    expect(calls()).to.have.length(1);
  });

  it("rejects a file in place of the cache folder", () => {
    writeFileSync(join(folder, "cache"), "");
    const env = standIns({ "apt-get": downloads, dpkg: unpacks, ldd: "true" });
    expect(attempt(env).reasons).to.deep.equal([
      `apt-get download svc-server: ${join(folder, "cache")} exists but is not a folder that this user owns`,
    ]);
  });

  if (process.getuid !== undefined) {
    it("rejects a cache folder that other users may write to", () => {
      const env = standIns({ "apt-get": downloads, dpkg: unpacks, ldd: "true" });
      expect(attempt(env).path).to.be.a("string");
      chmodSync(join(folder, "cache"), 0o777);
      const { path, reasons } = attempt(env);
      expect(path).to.equal(undefined);
      expect(reasons[0]).to.match(/exists, and other users may write to it$/);
    });
  }

  if (process.getuid?.() === 0) {
    it("rejects a cache folder that another user owns", () => {
      const env = standIns({ "apt-get": downloads, dpkg: unpacks, ldd: "true" });
      expect(attempt(env).path).to.be.a("string");
      chownSync(join(folder, "cache"), 65_534, 65_534);
      const { path, reasons } = attempt(env);
      expect(path).to.equal(undefined);
      expect(reasons[0]).to.match(/exists but is not a folder that this user owns$/);
    });
  }
});

describe("unpack() with Debian's apt-get", function () {
  this.timeout(120_000);
  testProgram({ title: "apt-get", files: ["apt-get"], package: "apt" });
  useFolder();

  it("unpacks a Redis server that starts", function () {
    const attempts: Attempt[] = [];
    const path = unpack(programs.redis, attempts, { env: process.env, cache: join(folder, "cache") });
    // Without package lists or a reachable mirror, check the reason and skip the test.
    if (path === undefined) {
      expect(attempts).to.have.length(1);
      expect(attempts[0]?.reason).to.match(
        /Unable to locate|find a source|Failed to fetch|did not end within/,
      );
      this.skip();
    }
    const { stdout } = spawnSync(path, ["--version"], { encoding: "utf8" });
    expect(stdout).to.match(/^Redis server v=\d/);
  });
});
