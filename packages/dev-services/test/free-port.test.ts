import { freePort, freePorts } from "@svc/dev-services";
import { expect } from "chai";
import { existsSync, readFileSync } from "node:fs";
import { isOurs, isPortFree } from "../src/free-port.ts";
import { keptFolder } from "./support/kept-folder.ts";

const RANGE = "/proc/sys/net/ipv4/ip_local_port_range";

const given = existsSync(RANGE) ? readFileSync(RANGE, "utf8").trim().split(/\s+/) : [];
const [lowest = 32_768] = given.map(Number);

/** Returns a second instance of the module, as if another process had loaded it. */
function another(name: string): Promise<typeof import("../src/free-port.ts")> {
  const { href } = new URL(`../src/free-port.ts?${name}`, import.meta.url);
  return import(href) as Promise<typeof import("../src/free-port.ts")>;
}

describe("freePort", () => {
  const run = process.env.SVC_TEST_RUN;
  afterEach(() => {
    if (run === undefined) delete process.env.SVC_TEST_RUN;
    else process.env.SVC_TEST_RUN = run;
  });

  it("returns a free port outside the system's ephemeral range", async () => {
    for (let times = 0; times < 20; times++) {
      const port = await freePort();
      expect(await isPortFree(port)).to.equal(true);
      if (lowest >= 32_768) expect(port).to.be.within(1024, lowest - 1);
    }
  });

  it("freePorts() returns a free port whose neighbours at the given distances are free too", async () => {
    for (let times = 0; times < 20; times++) {
      const port = await freePorts([1, 20]);
      for (const distance of [0, 1, 20]) expect(await isPortFree(port + distance)).to.equal(true);
    }
  });

  it("returns each port only once per test run, even to several processes", async () => {
    await using folder = keptFolder();
    process.env.SVC_TEST_RUN = folder.path;
    const other = await another("of-the-run");
    const ports = [await freePort(), await other.freePort(), await freePort(), await other.freePort()];
    expect(new Set(ports).size).to.equal(ports.length);
    const stranger = await another("of-the-run-too");
    for (const each of [{ isOurs }, other, stranger])
      expect(ports.map((port) => each.isOurs(port))).to.deep.equal([false, false, false, false]);
    expect(stranger.isOurs(1)).to.equal(true);
    expect(other.isOurs(1)).to.equal(false);
  });

  it("without a run folder or with an unwritable one, returns each port only once per process", async () => {
    for (const folder of ["", "/nonexistent"]) {
      process.env.SVC_TEST_RUN = folder;
      const alone = await another(`alone${folder}`);
      const port = await alone.freePort();
      expect(alone.isOurs(port)).to.equal(false);
      expect([alone.isOurs(1), alone.isOurs(1)]).to.deep.equal([true, false]);
    }
  });

  it("returns a port chosen by the system when all ports of its own range are claimed", async () => {
    process.env.SVC_TEST_RUN = "";
    const last = await another("last");
    for (let port = 20_000; port < 32_768; port++) last.isOurs(port);
    const port = await last.freePort();
    if (lowest >= 32_768) expect(port).not.to.be.within(20_000, 32_767);
    expect(port).to.be.within(1024, 65_535);
  });
});
