import { expect } from "chai";
import { client, verdictsOf } from "../client/bench.ts";
import type { BenchOptions } from "../harness/bench.ts";

function marks(costs: Readonly<Record<string, number>>): readonly string[] {
  const measured = new Map(Object.entries(costs).map(([name, cost]) => [name, [cost, cost, cost]]));
  return verdictsOf(measured).map(({ mark, text }) => `${mark} ${text}`);
}

describe("the client benchmark", () => {
  it("lists the known cases for an unknown name", async () => {
    const options = { only: ["nothing"] } as unknown as BenchOptions;
    const message = await client.run(options).then(String, (error: Error) => error.message);
    expect(message).to.equal("there is no case nothing; there are undici-request, svc, svc-context, fetch");
  });

  it("accepts a cost equal to its bound, rejects a larger one, and omits cases that were not measured", () => {
    expect(marks({ svc: 13, "undici-request": 10, fetch: 26 })).to.deep.equal([
      "ok svc: 0.500 x fetch, bound at most 0.5",
      "ok svc: 1.300 x undici-request, bound at most 1.3",
    ]);
    expect(marks({ svc: 13.1, "undici-request": 10, fetch: 26 })).to.deep.equal([
      "FAIL svc: 0.504 x fetch, bound at most 0.5",
      "FAIL svc: 1.310 x undici-request, bound at most 1.3",
    ]);
    expect(marks({ svc: 13 })).to.deep.equal([]);
  });
});
