import { existsSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { expect } from "chai";
import { scratchFolder, type ScratchOptions } from "../src/account.ts";

const TMPFS = 0x0102_1994;

describe("scratchFolder()", () => {
  function parentOf(options: ScratchOptions): string {
    const folder = scratchFolder("svc-scratch-", options);
    rmSync(folder, { recursive: true });
    return dirname(folder);
  }

  it("is in memory for npm test if the system has /dev/shm", () => {
    const hasOne = existsSync("/dev/shm") && statfsSync("/dev/shm").type === TMPFS;
    expect(parentOf({ env: { SVC_TEST_RUN: "one" }, plenty: 0 }) === "/dev/shm").to.equal(hasOne);
  });

  it("is on disk outside npm test, and when memory is short", () => {
    const onDisk = [tmpdir(), "/tmp", "/var/tmp"];
    expect(parentOf({ env: {}, plenty: 0 })).to.be.oneOf(onDisk);
    expect(parentOf({ env: { SVC_TEST_RUN: "" }, plenty: 0 })).to.be.oneOf(onDisk);
    expect(parentOf({ env: { SVC_TEST_RUN: "one" }, plenty: Number.POSITIVE_INFINITY })).to.be.oneOf(onDisk);
  });
});
