import { Histogram, Registry } from "prom-client";
import { expect } from "chai";
import { createRequestCells } from "../src/request-cells.ts";
import { registerRequestMetrics } from "../src/request-metrics.ts";

/** Creates a random number generator (mulberry32) that returns the same numbers for the same seed. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

describe("http_request_duration_seconds", () => {
  for (const bounds of [
    [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
    [1],
    [0.1, 0.2, 0.30000000000000004],
  ]) {
    it(`MET-4 writes the same text as a prom-client Histogram, with bounds ${bounds.join(" ")}`, async () => {
      const next = random(bounds.length);
      const cells = createRequestCells(bounds, 100);
      const ours = new Registry();
      registerRequestMetrics(ours, cells, { service: "x", version: "1" });
      const theirs = new Registry();
      const name = "http_request_duration_seconds";
      const real = new Histogram({
        name,
        help: await helpOf(ours, name),
        labelNames: ["method", "endpoint"],
        buckets: [...bounds],
        registers: [theirs],
      });
      // Observe in the fixed order of methods in the cells, so that both registries list their series in the same
      // order.
      for (const method of ["GET", "POST"]) {
        for (const endpoint of ["/a", '/"quoted"\\:id', "<unmatched>"]) {
          for (let count = 0; count < 500; count++) {
            const seconds = count % 10 === 0 ? (bounds[count % bounds.length] ?? 0) : next() ** 6 * 20;
            cells.record(cells.methodOf(method), endpoint, 200, seconds);
            real.observe({ method, endpoint }, seconds);
          }
        }
      }
      expect(await ours.getSingleMetricAsString(name)).to.equal(await theirs.getSingleMetricAsString(name));
      const json = (of: Registry) =>
        of.getMetricsAsJSON().then((all) => all.find((each) => each.name === name));
      const [mine, reals] = [await json(ours), await json(theirs)];
      const plain = (values: readonly object[] | undefined) =>
        values?.map((each) => ({ ...each, exemplar: undefined }));
      expect(plain(mine?.values)).to.deep.equal(plain(reals?.values));
      expect({ ...mine, values: [] }).to.deep.equal({ ...reals, values: [] });
    });
  }
});

async function helpOf(registry: Registry, name: string): Promise<string> {
  const all = await registry.getMetricsAsJSON();
  return all.find((each) => each.name === name)?.help ?? "";
}
