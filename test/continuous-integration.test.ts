import { spawnSync } from "node:child_process";
import { readFileSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";

const root = join(import.meta.dirname, "..");

describe(".ci/run", () => {
  const steps = readFileSync(join(root, ".ci/run"), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("npm "))
    .map((line) => line.replace(/ --.*$/, ""));

  it("VER-3 runs npm ci, the checks, the mutants, the fault runs and all other tests, in this order", () => {
    expect(steps).to.deep.equal([
      "npm ci",
      "npm run check",
      "npm run mutants",
      "npm run test:faults",
      "npm test",
    ]);
  });

  it("VER-3 is executable and stops at the first failing step", () => {
    const file = join(root, ".ci/run");
    // Windows has no mode bits.
    if (process.platform !== "win32") expect(statSync(file).mode & 0o111).to.equal(0o111);
    expect(readFileSync(file, "utf8")).to.match(/^#!.*\n(?:#.*\n)*set -euo pipefail\n/);
  });

  it("VER-3 also runs the tests that need servers as a normal user", () => {
    const lines = readFileSync(join(root, ".ci/run"), "utf8").split("\n");
    expect(lines).to.include("bash scripts/ci-normal-user.sh");
  });
});

describe("scripts/ci-normal-user.sh", () => {
  const script = readFileSync(join(root, "scripts/ci-normal-user.sh"), "utf8");

  it("reports that it runs no tests without root, and exits with 0", function () {
    if (process.platform === "win32") this.skip();
    const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
    const { status, stdout, stderr } = spawnSync("bash", ["-s"], {
      ...user,
      input: script,
      cwd: tmpdir(),
      encoding: "utf8",
    });
    expect({ status, stdout, stderr }).to.deep.equal({
      status: 0,
      stdout: "tests of a normal user: not run, because they need root on Debian\n",
      stderr: "",
    });
  });

  it("lists only files that exist", () => {
    const [, list = ""] = /^unpacked=\(\n([^)]*)\)/m.exec(script) ?? [];
    const { stdout } = spawnSync("bash", ["-c", `printf '%s\\n' ${list.replaceAll("\n", " ")}`], {
      encoding: "utf8",
    });
    const files = stdout.trim().split("\n");
    expect(files).to.have.length.above(5);
    for (const file of files) expect(statSync(join(root, file)).isFile(), file).to.equal(true);
  });
});
