import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { expect } from "chai";

const root = join(import.meta.dirname, "..");

describe(".ci/run", () => {
  const steps = readFileSync(join(root, ".ci/run"), "utf8")
    .split("\n")
    .filter((line) => line.startsWith("npm "))
    .map((line) => line.replace(/ --\S+/g, ""));

  it("VER-3 installs cleanly, checks, then builds and runs everything by the test command", () => {
    expect(steps).to.deep.equal(["npm ci", "npm run check", "npm test"]);
  });

  it("VER-3 can be started as it is and stops at the first step that fails", () => {
    const file = join(root, ".ci/run");
    // Windows has no mode bits for it.
    if (process.platform !== "win32") expect(statSync(file).mode & 0o111).to.equal(0o111);
    expect(readFileSync(file, "utf8")).to.match(/^#!.*\n(?:#.*\n)*set -euo pipefail\n/);
  });
});
