import { existsSync, statfsSync } from "node:fs";
import { expect } from "chai";
import type { BenchOptions } from "../harness/bench.ts";
import { allMetrics, queue } from "../queue/bench.ts";
import { verdictsAgainst } from "../queue/against.ts";
import { inHand } from "../queue/contestant.ts";
import { measureLatency, orderOf } from "../queue/latency.ts";
import type { Member } from "../queue/members.ts";
import { apartBounds, latencyBounds, peers, type Result, rows, spreadBoss } from "../queue/rows.ts";
import { doubtOf } from "../queue/server.ts";
import { type Figure, limitVerdict, verdictOf, voided, voidOf } from "../queue/verdicts.ts";
import { queueDepth } from "../queue-depth/bench.ts";
import { statesOf } from "../queue-depth/states.ts";

interface Ran {
  readonly code: number;
  readonly figures: readonly (Figure & { readonly bench: string })[];
  readonly said: readonly string[];
}

describe("the queue and queue-depth benchmarks", function () {
  // Eight processes take turns: this takes half a minute on a busy machine, and over a minute on a slow one.
  this.timeout(240_000);

  async function run(bench: typeof queue, only: readonly string[]): Promise<Ran> {
    const printed: string[] = [];
    const said: string[] = [];
    const options: BenchOptions = {
      json: true,
      quick: true,
      socket: false,
      record: false,
      only,
      rounds: 1,
      print: (line) => void printed.push(line),
      note: (line) => void said.push(line),
    };
    const code = await bench.run(options);
    return { code, figures: printed.map((line) => JSON.parse(line) as Figure & { bench: string }), said };
  }

  it("drain jobs with each queue, and print the server's durability and commit time", async () => {
    const { code, figures, said } = await run(queue, ["drain/noop/c10/fastest", "latency"]);
    const everybody = ["svc", ...peers, "control", "svc-apart", "by-hand", "commit"];
    const latencies = ["p50", "p99"].flatMap((share) =>
      everybody.map((name) => ["queue", name, `latency/${share}`, "ms"]),
    );
    expect(figures.map(({ bench, case: name, metric, unit }) => [bench, name, metric, unit])).to.deep.equal([
      ...["svc", ...peers, spreadBoss].map((name) => ["queue", name, "drain/noop/c10/fastest", "per_s"]),
      ...latencies,
    ]);
    expect(figures.every(({ value }) => value > 0)).to.equal(true);
    expect(said[0]).to.include("fsync=on").and.to.include("synchronous_commit=on");
    expect(said.join("\n"))
      .to.match(/graphile-worker \d+\.\d+/)
      .and.to.match(/pg-boss \d+\.\d+/)
      .and.to.match(/latency, round 1: commit p50 [\d.]+ ms, p99 [\d.]+ ms; p99 svc [\d.]+, /)
      .and.to.match(/latency, all 1 rounds, 1 of which count: median p99 svc [\d.]+, .*, commit [\d.]+/)
      .and.to.match(/(LESS| {4}) drain\/noop\/c10\/fastest: [\d.]+ x (graphile-worker|pg-boss)/)
      .and.not.to.match(/ok {2}|FAIL|VOID|bound/);
    expect(code, "a quick run judges no bound").to.equal(0);
  });

  it("measure the recovery of expired leases only for svc (JOB-34)", async () => {
    const { figures, said } = await run(queue, ["recovery"]);
    expect(figures.map(({ case: name, metric, unit }) => [name, metric, unit])).to.deep.equal([
      ["svc", "recovery/1000-expired", "ms"],
      ["pending", "recovery/1000-expired", "ms"],
      ["svc", "recovery/under-flow", "ms"],
    ]);
    expect(said.join("\n")).not.to.match(/graphile-worker|bound/);
  });

  it("reject an unknown name, and list the existing rows or cases", async () => {
    const reason = async (bench: typeof queue): Promise<string> =>
      run(bench, ["nothing"]).then(
        () => "none",
        (error: Error) => error.message,
      );
    expect(await reason(queue)).to.include(
      "there is no row nothing; there are drain/noop/c1/default, drain/noop/c1/fastest",
    );
    expect(await reason(queueDepth)).to.include("there is no case nothing; there are empty, 20-pending");
    expect(allMetrics)
      .to.have.lengthOf(25)
      .and.to.include.members(["enqueue/single", "enqueue/bulk", "latency", "recovery/under-flow"])
      .and.to.include.members(["drain/noop/10x10/fastest", "herd/40"]);
  });

  it("measure claim() calls and a worker's claims in a table with many other rows", async () => {
    const { figures } = await run(queueDepth, ["100-running", "old-snapshot"]);
    expect(figures.map(({ metric, unit }) => [metric, unit])).to.deep.equal(
      ["empty", "100-running", "old-snapshot"].flatMap((state) => [
        [`call/${state}`, "ms"],
        [`relaxed/${state}`, "ms"],
        [`worker/${state}`, "ms"],
        [`by-hand/${state}`, "ms"],
      ]),
    );
    expect(figures.every(({ value }) => value > 0)).to.equal(true);
    expect(statesOf(1).map(({ name, bound }) => [name, bound])).to.deep.equal([
      ["empty", 1],
      ["1000-pending", 2],
      ["100000-pending", 2],
      ["1000000-pending", 2],
      ["250000-dead", 2],
      ["250000-scheduled", 2],
      ["5000-running", 2],
      ["old-snapshot", 3],
      ["old-snapshot-leases", 3],
    ]);
  });

  it("compare svc with the better peer, and distinguish a goal from a bound", () => {
    const figures = (values: readonly [string, number][], metric: string, unit: "per_s" | "ms"): Figure[] =>
      values.map(([name, value]) => ({ case: name, metric, value, unit }));
    const verdict = (...given: Parameters<typeof figures>): ReturnType<typeof verdictOf> =>
      verdictOf(
        "svc",
        peers,
        given[1],
        figures(...given),
        rows.find(({ metric }) => metric === given[1])?.bound ?? latencyBounds.p50,
      );
    const others: [string, number][] = [
      ["graphile-worker", 1000],
      ["pg-boss", 500],
    ];
    expect(verdict([["svc", 1500], ...others], "drain/noop/c50/fastest", "per_s")).to.deep.equal({
      line: "ok   drain/noop/c50/fastest: 1.50 x graphile-worker, bound at least 1.4",
      broken: false,
    });
    expect(verdict([["svc", 1300], ...others], "drain/noop/c50/fastest", "per_s")?.broken).to.equal(true);
    expect(verdict([["svc", 900], ...others], "drain/noop/c1/default", "per_s")).to.deep.equal({
      line: "LESS drain/noop/c1/default: 0.90 x graphile-worker, goal at least 1",
      broken: false,
    });
    expect(verdict([["svc", 300], ...others], "latency/p50", "ms")).to.deep.equal({
      line: "FAIL latency/p50: 0.60 x pg-boss, bound at most 0.5",
      broken: true,
    });
    expect(verdictOf("svc", peers, "drain/1ms/c1/default", [], undefined)).to.equal(undefined);
  });

  it("compare the latency of svc with a separate producer to graphile-worker only, against its own bound", () => {
    const figures = [
      { case: "svc-apart", metric: "latency/p50", value: 8, unit: "ms" },
      { case: "graphile-worker", metric: "latency/p50", value: 10, unit: "ms" },
      { case: "pg-boss", metric: "latency/p50", value: 1, unit: "ms" },
    ] as const;
    const verdict = verdictOf(
      "svc-apart",
      ["graphile-worker"],
      "latency/p50",
      figures,
      apartBounds.p50,
      "latency/p50 svc-apart",
    );
    expect(verdict).to.deep.equal({
      line: "FAIL latency/p50 svc-apart: 0.80 x graphile-worker, bound at most 0.75",
      broken: true,
    });
    expect(voided(verdict ?? { line: "", broken: false }, "a stall").line).to.equal(
      "VOID latency/p50 svc-apart: a stall; latency/p50 svc-apart: 0.80 x graphile-worker, bound at most 0.75",
    );
    expect(apartBounds.p99.factor).to.equal(1);
  });

  it("compare a result with its limit if no peer has a result for that metric", () => {
    const figure = (value: number): Figure => ({
      case: "svc",
      metric: "recovery/1000-expired",
      value,
      unit: "ms",
    });
    expect(limitVerdict(figure(2000), 2000)).to.deep.equal({
      line: "ok   recovery/1000-expired: 2000 ms, bound at most 2000 ms",
      broken: false,
    });
    expect(limitVerdict(figure(2001), 2000).broken).to.equal(true);
    expect(limitVerdict(figure(Number.NaN), 2000).broken).to.equal(true);
  });

  describe("the latency measurement", () => {
    /** Measures rounds of five slices; in noisy rounds one commit in ten is slow. */
    async function measured(
      noisy: (round: number) => boolean,
    ): Promise<{ results: readonly Result[]; said: readonly string[] }> {
      const said: string[] = [];
      const taken = new Map<string, number>();
      const members = ["svc", ...peers, "control", "commit"].map((name): Member => ({
        name,
        about: name,
        time: () => Promise.reject(new Error("nothing is drained")),
        share: () => Promise.reject(new Error("nothing is shared")),
        latencies(order) {
          if (order.order !== "latency") throw new Error(`${order.order} is not an order for latencies`);
          const { jobs, mode } = order;
          const key = `${name} ${mode}`;
          const slice = taken.get(key) ?? 0;
          taken.set(key, slice + 1);
          const round = Math.floor(slice / 5) + 1;
          const usual = name === "graphile-worker" && key.endsWith("default") ? 100 : round;
          const slow = name === "commit" && noisy(round) ? 50 * usual : usual;
          return Promise.resolve(Array.from({ length: jobs }, (_, n) => (n % 10 === 0 ? slow : usual)));
        },
      }));
      const options = { quick: false, note: (line: string) => void said.push(line) };
      return { results: await measureLatency(members, { rounds: 2, share: 1 }, options, 0), said };
    }
    const valuesOf = (results: readonly Result[], name: string): readonly number[] | undefined =>
      results.find((each) => each.name === name && each.metric === "latency/p99")?.values;

    it("stops after twice the requested number of valid rounds", async () => {
      const { results, said } = await measured(() => false);
      expect(valuesOf(results, "svc")).to.deep.equal([1, 2, 3, 4]);
      expect(results.map(({ doubt }) => doubt))
        .to.include(undefined)
        .and.to.have.lengthOf(10);
      expect(said).to.have.lengthOf(5);
      expect(said.at(-1)).to.include("latency, all 4 rounds, 4 of which count: median p99 svc 2.50");
    });

    it("excludes a round with slow commits from the results, and reports it", async () => {
      const { results, said } = await measured((round) => round % 2 === 1);
      expect(valuesOf(results, "svc")).to.deep.equal([2, 4, 6, 8]);
      expect(valuesOf(results, "commit")).to.deep.equal([2, 4, 6, 8]);
      expect(said[0]).to.include("latency, round 1: does not count, commit p50 1.00 ms, p99 50.00 ms");
      expect(said[1]).to.include("latency, round 2: commit p50");
      expect(results.every(({ doubt }) => doubt === undefined)).to.equal(true);
    });

    it("stops after four times the requested rounds, and reports that too few of them are valid", async () => {
      const { results, said } = await measured((round) => round !== 3);
      expect(said.at(-1)).to.include("latency, all 8 rounds, 1 of which count");
      expect(new Set(results.map(({ doubt }) => doubt))).to.deep.equal(
        new Set(["1 of 8 rounds count, but 2 are required"]),
      );
      const none = await measured(() => true);
      expect(valuesOf(none.results, "svc")).to.deep.equal([1, 2, 3, 4, 5, 6, 7, 8]);
      expect(none.results[0]?.doubt).to.equal("0 of 8 rounds count, but 2 are required");
    });

    it("uses the better mode of graphile-worker", async () => {
      const { results } = await measured(() => false);
      expect(valuesOf(results, "graphile-worker")).to.deep.equal([1, 2, 3, 4]);
    });

    it("reports that latencies are not comparable when the database is in memory", () => {
      for (const folder of ["/dev/shm", import.meta.dirname].filter((each) => existsSync(each))) {
        const isInMemory = statfsSync(folder).type === 0x0102_1994;
        expect(doubtOf(folder)).to.equal(
          isInMemory ? "the data are in memory, and no commit waits for a disk" : undefined,
        );
      }
    });
  });

  it("order the cases so that each case follows every other case once", () => {
    const after = new Set<string>();
    for (let slice = 0; slice < 8; slice++) {
      const order = orderOf(slice, 8);
      expect(order.toSorted((a, b) => a - b)).to.deep.equal([0, 1, 2, 3, 4, 5, 6, 7]);
      for (const [at, each] of order.slice(1).entries()) after.add(`${order[at]} before ${each}`);
    }
    expect(after.size).to.equal(8 * 7);
  });

  it("mark a result as void when only one of svc and control is within the bound", () => {
    const verdict = (own: number, control: number, doubt?: string): ReturnType<typeof voidOf> => {
      const figures = [
        { case: "svc", metric: "latency/p99", value: own, unit: "ms" },
        { case: "control", metric: "latency/p99", value: control, unit: "ms" },
        { case: "pg-boss", metric: "latency/p99", value: 10, unit: "ms" },
      ] as const;
      return voidOf(["svc", "control"], peers, "latency/p99", figures, latencyBounds.p99, doubt);
    };
    const line = (ratio: string): string =>
      `VOID latency/p99: only one of svc and control is within the bound; latency/p99: ${ratio} x pg-boss, bound at most 0.75`;
    expect(verdict(8, 5)).to.deep.equal({ line: line("0.80"), broken: true });
    expect(verdict(5, 8)).to.deep.equal({ line: line("0.50"), broken: true });
    expect(verdict(5, 7)).to.equal(undefined);
    expect(verdict(8, 9)).to.equal(undefined);
    const stalled = "4 of 20 rounds count, but 5 are required";
    expect(verdict(5, 5, stalled)).to.deep.equal({
      line: `VOID latency/p99: ${stalled}; latency/p99: 0.50 x pg-boss, bound at most 0.75`,
      broken: true,
    });
  });

  it("report how many jobs would start again after a kill, by queue and mode", () => {
    expect(inHand("svc", 50, "default")).to.equal(50);
    expect(inHand("svc", 50, "fastest")).to.equal(500);
    expect(inHand("graphile-worker", 50, "fastest")).to.equal(550);
  });
});

describe("the queue benchmark compared with another checkout", () => {
  const linesOf = (unit: "per_s" | "ms", svc: number): readonly string[] => {
    const row = { metric: "some/row", unit } as const;
    const values = Object.entries({ svc, base: 100, "base-again": 98 });
    return verdictsAgainst(
      row,
      values.map(([name, value]) => ({ ...row, case: name, value })),
    ).map(({ line }) => line);
  };

  it("accepts 0.95 times the other checkout's jobs per second, and prints the control", () => {
    expect(linesOf("per_s", 95)).to.deep.equal([
      "ok   some/row: 0.95 x base, bound at least 0.95",
      "LESS some/row control: 0.98 x base",
    ]);
    expect(linesOf("per_s", 94)[0]).to.equal("FAIL some/row: 0.94 x base, bound at least 0.95");
  });

  it("accepts a latency up to 1.05 times the other checkout's", () => {
    expect(linesOf("ms", 105)[0]).to.match(/^ok /);
    expect(linesOf("ms", 106)[0]).to.match(/^FAIL /);
  });
});
