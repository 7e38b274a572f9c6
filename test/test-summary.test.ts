import { expect } from "chai";

const noRedis = "no Redis (not on PATH); install redis-server";
const noPython = "no Python; install python3";
const runs = [
  {
    passes: 4,
    failures: 0,
    pending: 4,
    skipped: [
      `cache [skipped: ${noRedis}] keeps values`,
      `cache [skipped: ${noRedis}] of two [skipped: ${noPython}] forgets values`,
      `store [skipped: ${noRedis}] keeps tokens`,
      "stop on SIGTERM",
    ],
  },
  { passes: 1, failures: 2, pending: 0, skipped: [] },
];

interface Script {
  readonly mustRunAll: (env: { readonly CI?: string }, uid: number | undefined) => boolean;
  readonly summaryOf: (
    all: readonly object[],
    options: { readonly nothingMayBeSkipped: boolean },
  ) => { readonly text: string; readonly failed: boolean };
}

describe("the last lines of npm test", () => {
  let summaryOf: Script["summaryOf"];
  let mustRunAll: Script["mustRunAll"];
  before(async () => {
    const script = new URL("../scripts/test-summary.mjs", import.meta.url).href;
    ({ mustRunAll, summaryOf } = (await import(script)) as Script);
  });

  it("give each reason once with its number of tests and suites, then the counts", () => {
    const { text, failed } = summaryOf(runs, { nothingMayBeSkipped: false });
    expect(text.split("\n")).to.deep.equal([
      "skipped:",
      `  3 tests: ${noRedis}`,
      "    - cache",
      "    - store",
      `  1 test: ${noPython}`,
      "    - cache",
      "  1 test that cannot run on this platform or for this user:",
      "    - stop on SIGTERM",
      "5 passed, 2 failed, 4 skipped",
    ]);
    expect(failed, "mocha's own exit code tells of failures").to.equal(false);
  });

  it("are only the counts when no test was skipped", () => {
    const { text } = summaryOf(runs.slice(1), { nothingMayBeSkipped: true });
    expect(text).to.equal("1 passed, 2 failed, 0 skipped");
  });

  it("make the run fail when a test was skipped and none may be", () => {
    const { text, failed } = summaryOf(runs, { nothingMayBeSkipped: true });
    expect(failed).to.equal(true);
    expect(text).to.contain("\n4 tests were skipped; nothing may be skipped by root when CI=true\n");
  });

  it("allow skipped tests to a normal user, and none to root with CI=true", () => {
    expect(mustRunAll({ CI: "true" }, 0)).to.equal(true);
    expect(mustRunAll({ CI: "true" }, 1000)).to.equal(false);
    expect(mustRunAll({ CI: "true" }, undefined)).to.equal(false);
    expect(mustRunAll({}, 0)).to.equal(false);
  });

  it("make the run fail when no test ran", () => {
    expect(summaryOf([], { nothingMayBeSkipped: false })).to.deep.equal({
      text: "0 passed, 0 failed, 0 skipped",
      failed: true,
    });
  });
});
