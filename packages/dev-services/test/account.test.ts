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

  it("returns a folder in /dev/shm under npm test if /dev/shm is a tmpfs", () => {
    const hasOne = existsSync("/dev/shm") && statfsSync("/dev/shm").type === TMPFS;
    expect(parentOf({ env: { SVC_TEST_RUN: "one" }, plenty: 0 }) === "/dev/shm").to.equal(hasOne);
  });

  it("returns a folder on disk when npm test is not running, or when too little memory is free", () => {
    const onDisk = [tmpdir(), "/tmp", "/var/tmp"];
    expect(parentOf({ env: {}, plenty: 0 })).to.be.oneOf(onDisk);
    expect(parentOf({ env: { SVC_TEST_RUN: "" }, plenty: 0 })).to.be.oneOf(onDisk);
    expect(parentOf({ env: { SVC_TEST_RUN: "one" }, plenty: Number.POSITIVE_INFINITY })).to.be.oneOf(onDisk);
  });
});
