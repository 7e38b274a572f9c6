import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { expect } from "chai";
import { measure } from "../harness/rounds.ts";
import { ratioOf } from "../harness/figures.ts";
import { chosenCases } from "../http/cases.ts";
import { measureOverSockets } from "../http/over-sockets.ts";

const file = fileURLToPath(new URL("../run.ts", import.meta.url));

async function run(...args: readonly string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, ["--conditions=@svc/source", file, ...args], {
    env: { ...process.env, SVC_PERF_BUDGET: "" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, "exit"),
  ]);
  return { code: code as number, stdout, stderr };
}

describe("npm run bench", () => {
  it("lists the benches if the name is missing or unknown", async () => {
    for (const args of [[], ["nothing"]]) {
      const { code, stderr } = await run(...args);
      expect(code).to.equal(1);
      expect(stderr)
        .to.match(/^ {2}http +the cost of a request/m)
        .and.to.match(/^ {2}budget +fails/m);
    }
  });

  it("rejects an unknown case and invalid options, and lists the known cases", async () => {
    expect((await run("http", "--only", "nothing")).stderr).to.match(
      /no case nothing; there are .*node-http/,
    );
    expect((await run("http", "--rounds", "some")).stderr).to.include("--rounds must be a whole number");
    expect((await run("http", "--fast")).stderr).to.include("--fast");
  });

  it("PERF-1 skips the budget unless it is switched on", async () => {
    const { code, stderr } = await run("budget");
    expect(code).to.equal(0);
    expect(stderr).to.include("the budget is off");
  });

  it("measures each case in its own process, for the requested rounds", async () => {
    const module = new URL("./support/hashes.ts", import.meta.url);
    const cases = [1, 20].map((times) => ({ name: `hashes ${times}`, module, setting: String(times) }));
    const rounds: number[] = [];
    const effort = { rounds: 5, warmUp: 1_000, sliceMs: 5, fewest: 200, most: 400 };
    const measured = await measure(cases, effort, (round) => void rounds.push(round));
    expect(rounds).to.deep.equal([1, 2, 3, 4, 5]);
    expect([...measured.keys()]).to.deep.equal(["hashes 1", "hashes 20"]);
    expect([...measured.values()].map((samples) => samples.length)).to.deep.equal([5, 5]);
    // The work differs 20-fold, so the test passes even if the speed of the machine changes by a factor of three.
    expect(ratioOf(measured.get("hashes 20") ?? [], measured.get("hashes 1") ?? [])).to.be.within(6, 60);
  });

  it("measures a chosen case together with the base and the controls", () => {
    const names = chosenCases(["node-http"]).map(({ name }) => name);
    expect(names).to.deep.equal(["bare-express5", "control", "node-http", "control-2"]);
  });

  it("measures the CPU time of the server process for requests over sockets", async () => {
    const measured = await measureOverSockets(chosenCases(["node-http"]), 2, 200);
    expect([...measured.values()].map((samples) => samples.length)).to.deep.equal([2, 2, 2, 2]);
    expect([...measured.values()].flat().every((cost) => cost > 0)).to.equal(true);
  });
});
