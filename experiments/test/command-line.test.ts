import { expect } from "chai";
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

function run(...args: string[]): { status: number | null; stdout: string; stderr: string } {
  const file = fileURLToPath(new URL("../run.ts", import.meta.url));
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ["--conditions=@svc/source", file, ...args],
    { encoding: "utf8", timeout: 60_000 },
  );
  return { status, stdout, stderr };
}

describe("the command line of the experiments", function () {
  this.timeout(90_000);

  it("lists the experiments when none is named", () => {
    const { status, stdout } = run();
    expect(status).to.equal(0);
    for (const name of [
      "stop-under-load",
      "slow-clients",
      "readiness-herd",
      "database-stall",
      "fuzz",
      "log-pressure",
    ])
      expect(stdout).to.contain(`  ${name} `);
  });

  it("prints one JSON object per result and exits with 0, or with 1 when a rule is broken", () => {
    const good = run("readiness-herd", "--quick", "--json", "--seconds", "1");
    expect(good.status, good.stderr).to.equal(0);
    const figures = good.stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    for (const each of figures) {
      expect(Object.keys(each)).to.deep.equal(["experiment", "case", "metric", "value", "unit"]);
      expect(each["experiment"]).to.equal("readiness-herd");
    }
    const bad = run("readiness-herd", "--quick", "--json", "--seconds", "1", "--variant", "broken-naive");
    expect(bad.status).to.equal(1);
    expect(bad.stderr).to.contain("broken: at most");
  });

  it("rejects unknown experiments, variants and values", () => {
    expect(run("nothing").stderr).to.contain("name one experiment");
    expect(run("fuzz", "--variant", "x").stderr).to.contain("--variant must be as-built or broken-handler");
    const { status, stderr } = run("fuzz", "--cases", "0");
    expect(stderr).to.contain("--cases must be a whole number");
    expect(status).to.equal(1);
  });
});
