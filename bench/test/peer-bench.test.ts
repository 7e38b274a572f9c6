import { expect } from "chai";
import { client, comparison as ofClients } from "../client/bench.ts";
import { comparison as ofGateways, gateway } from "../gateway/bench.ts";
import type { BenchOptions } from "../harness/bench.ts";
import { type PeerComparison, peerVerdicts } from "../harness/peer-bench.ts";

function marks(of: PeerComparison, costs: Readonly<Record<string, number>>): readonly string[] {
  const measured = new Map(Object.entries(costs).map(([name, cost]) => [name, [cost, cost, cost]]));
  return peerVerdicts(of, measured).map(({ mark, text }) => `${mark} ${text}`);
}

describe("the benchmarks of clients and gateways", () => {
  for (const [bench, { names }] of [
    [client, ofClients],
    [gateway, ofGateways],
  ] as const) {
    it(`reject an unknown case, and list the known cases ${names.join(", ")}`, async () => {
      const options = { only: ["nothing"] } as unknown as BenchOptions;
      const message = await bench.run(options).then(String, (error: Error) => error.message);
      expect(message).to.equal(`there is no case nothing; there are ${names.join(", ")}`);
    });
  }

  it("accept a cost equal to its bound, reject a larger one, and omit cases that were not measured", () => {
    expect(marks(ofClients, { svc: 13, "undici-request": 10, fetch: 26 })).to.deep.equal([
      "ok svc: 0.500 x fetch, bound at most 0.5",
      "ok svc: 1.300 x undici-request, bound at most 1.3",
    ]);
    expect(marks(ofClients, { svc: 13.1, "undici-request": 10, fetch: 26 })).to.deep.equal([
      "FAIL svc: 0.504 x fetch, bound at most 0.5",
      "FAIL svc: 1.310 x undici-request, bound at most 1.3",
    ]);
    expect(marks(ofGateways, { svc: 6.1, "http-proxy-middleware": 10 })).to.deep.equal([
      "FAIL svc: 0.610 x http-proxy-middleware, bound at most 0.6",
    ]);
    expect(marks(ofClients, { svc: 13 })).to.deep.equal([]);
  });
});
