import { existsSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname } from "node:path";
import { expect } from "chai";
import { scratchFolder, type ScratchOptions } from "../src/account.ts";

const TMPFS = 0x0102_1994;

describe("the folder of a server that is thrown away", () => {
  function parentOf(options: ScratchOptions): string {
    const folder = scratchFolder("svc-scratch-", options);
    rmSync(folder, { recursive: true });
    return dirname(folder);
  }

  it("lies in memory for npm test, where the system has such a folder", () => {
    const hasOne = existsSync("/dev/shm") && statfsSync("/dev/shm").type === TMPFS;
    expect(parentOf({ env: { SVC_TEST_RUN: "one" }, plenty: 0 }) === "/dev/shm").to.equal(hasOne);
  });

  it("lies on the disk for everybody else, and where memory is short", () => {
    const onDisk = [tmpdir(), "/tmp", "/var/tmp"];
    expect(parentOf({ env: {}, plenty: 0 })).to.be.oneOf(onDisk);
    expect(parentOf({ env: { SVC_TEST_RUN: "" }, plenty: 0 })).to.be.oneOf(onDisk);
    expect(parentOf({ env: { SVC_TEST_RUN: "one" }, plenty: Number.POSITIVE_INFINITY })).to.be.oneOf(onDisk);
  });
});
