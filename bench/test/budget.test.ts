import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "chai";
import { budgeted, runBudget } from "../budget.ts";
import { type Baseline, platform, type Ratios } from "../harness/baseline.ts";
import type { BenchOptions } from "../harness/bench.ts";
import { VoidRunError } from "../harness/controls.ts";
import { ratioOf } from "../harness/figures.ts";
import { measure } from "../harness/rounds.ts";
import { chosenCases, controls } from "../http/cases.ts";

const ratios: Ratios = { "svc-express": 1.1, packages: 1.2 };

describe("the performance budget", () => {
  let folder = "";
  let file = "";
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "svc-budget-"));
    file = join(folder, "baseline.json");
  });
  afterEach(() => rm(folder, { recursive: true }));

  async function check(
    measured: Ratios | (() => Promise<Ratios>),
    {
      record = false,
      json = false,
      env = {},
    }: { record?: boolean; json?: boolean; env?: Record<string, string> } = {},
  ): Promise<{ code: number; said: string; printed: string }> {
    const said: string[] = [];
    const printed: string[] = [];
    const options: BenchOptions = {
      json,
      record,
      quick: true,
      socket: false,
      only: undefined,
      rounds: undefined,
      print: (line) => void printed.push(line),
      note: (line) => void said.push(line),
    };
    const code = await runBudget(options, {
      env: { SVC_PERF_BUDGET: "1", SVC_PERF_BASELINE: file, ...env },
      ratios: typeof measured === "function" ? measured : async () => measured,
    });
    return { code, said: said.join("\n"), printed: printed.join("\n") };
  }

  it("PERF-1 is off without SVC_PERF_BUDGET=1 and names the variable", async () => {
    const off = await check(() => Promise.reject(new Error("measured")), { env: { SVC_PERF_BUDGET: "" } });
    expect(off.code).to.equal(0);
    expect(off.said).to.include("SVC_PERF_BUDGET=1 npm run bench -- budget");
  });

  it("PERF-1 compares with the baseline when SVC_PERF_BUDGET=1 is set", async () => {
    await check(ratios, { record: true });
    const same = await check(ratios);
    expect(same.code).to.equal(0);
    expect(same.printed).to.match(/^ok +svc-express: 1\.100, recorded 1\.100$/m);
  });

  it("PERF-2 fails and names the case when a ratio grew by more than 20 %", async () => {
    await check(ratios, { record: true });
    expect((await check({ ...ratios, packages: 1.2 * 1.2 })).code).to.equal(0);
    const grown = await check({ ...ratios, packages: 1.2 * 1.2 + 0.001 });
    expect(grown.code).to.equal(1);
    expect(grown.said).to.equal("packages grew by more than 20 % over its baseline");
    expect(grown.printed)
      .to.match(/^FAIL packages: 1\.441, recorded 1\.200$/m)
      .and.to.match(/^ok +svc-express/m);
  });

  it("PERF-2 reads the tolerance from SVC_PERF_TOLERANCE, and rejects an invalid share", async () => {
    await check(ratios, { record: true });
    const strict = await check({ ...ratios, packages: 1.3 }, { env: { SVC_PERF_TOLERANCE: "0.05" } });
    expect(strict.code).to.equal(1);
    for (const SVC_PERF_TOLERANCE of ["20%", "0", "-1", "20"]) {
      const wrong = check(ratios, { env: { SVC_PERF_TOLERANCE } });
      expect(await wrong.catch((error: Error) => error.message)).to.include(
        "SVC_PERF_TOLERANCE must be a share",
      );
    }
  });

  it("PERF-3 keeps the entries of other platforms and compares with the entry of this platform", async () => {
    await writeFile(file, JSON.stringify({ "other-cpu-node1": { packages: 0.1 } }));
    await check(ratios, { record: true });
    const baseline = JSON.parse(await readFile(file, "utf8")) as Baseline;
    expect(baseline).to.deep.equal({ "other-cpu-node1": { packages: 0.1 }, [platform]: ratios });
    expect((await check(ratios)).code).to.equal(0);
  });

  it("PERF-3 fails on a platform without a baseline and says how to record one", async () => {
    const none = await check(ratios);
    expect(none.code).to.equal(1);
    expect(none.said).to.include(platform).and.to.include("npm run bench -- budget --record");
    await writeFile(file, JSON.stringify({ [platform]: { "svc-express": 1.1 } }));
    const partial = await check(ratios);
    expect(partial.code).to.equal(1);
    expect(partial.said).to.include("packages has no baseline");
  });

  it("PERF-3 rejects a file that is not a baseline", async () => {
    for (const text of ["{", "[]", '{"linux":{"packages":"fast"}}', '{"linux":{"packages":0}}']) {
      await writeFile(file, text);
      expect(await check(ratios).catch((error: Error) => error.message)).to.include("is not a baseline");
    }
  });

  it("PERF-2 fails when the run is void", async () => {
    await check(ratios, { record: true });
    const code = await check(() => Promise.reject(new VoidRunError(new Map(), ["1.200"])));
    expect(code.code).to.equal(1);
    expect(code.said).to.match(/^void: .*1\.200/);
  });

  it("PERF-2 prints its ratios as JSON lines with --json", async () => {
    await check(ratios, { record: true });
    const { printed } = await check({ packages: 1.2 }, { json: true });
    expect(JSON.parse(printed)).to.deep.equal({
      bench: "budget",
      case: "packages",
      metric: "ratio",
      value: 1.2,
      unit: "ratio",
    });
  });

  it("PERF-2 passes the service as built and fails a service with a slow middleware", async () => {
    const slowModule = new URL("./support/slow-svc-express.ts", import.meta.url);
    const effort = { rounds: 9, warmUp: 3_000, sliceMs: 10, fewest: 300, most: 600 };
    const plain = chosenCases(["svc-express"]);
    const [service] = plain.filter(({ name }) => name === "svc-express");
    const slowed = { ...service, name: "slowed", module: slowModule, setting: "warn" };
    const all = [...plain, { ...slowed, name: "again", module: service?.module ?? slowModule }, slowed];
    let measured = await measure(all, effort);
    const between = (name: string, other: string): number =>
      ratioOf(measured.get(name) ?? [], measured.get(other) ?? []);
    const ratio = (name: string): number => between(name, controls.base);
    // Repeat a void run: two measurements of the same case differ too much.
    const isVoid = (): boolean =>
      [between("again", "svc-express"), ...controls.names.map(ratio)].some(
        (each) => !(each > 0.8 && each < 1.25),
      );
    for (let again = 0; again < 4 && isVoid(); again++) measured = await measure(all, effort);

    await check({ "svc-express": ratio("svc-express") }, { record: true });
    // A busy machine may change a ratio a little; the slow middleware costs several times as much.
    const env = { SVC_PERF_TOLERANCE: "0.4" };
    expect((await check({ "svc-express": ratio("again") }, { env })).code).to.equal(0);
    const slow = await check({ "svc-express": ratio("slowed") }, { env });
    expect(slow.code).to.equal(1);
    expect(slow.said).to.equal("svc-express grew by more than 40 % over its baseline");
  }).timeout(120_000);

  it("PERF-2 covers the service and the single packages, with and without logs and authentication", () => {
    expect(budgeted).to.have.members(
      ["svc-express", "svc-express-info", "svc-full", "svc-full-hs256-uncached"].concat([
        "packages",
        "packages-info",
        "full-packages",
      ]),
    );
    expect(chosenCases(budgeted).map(({ name }) => name)).to.include.members([
      ...budgeted,
      ...controls.names,
    ]);
  });
});
