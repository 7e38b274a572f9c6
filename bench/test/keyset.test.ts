import { expect } from "chai";
import type { BenchOptions } from "../harness/bench.ts";
import { keyset } from "../keyset/bench.ts";

function collecting(given: Partial<BenchOptions>): { options: BenchOptions; printed: string[] } {
  const printed: string[] = [];
  const options: BenchOptions = {
    json: false,
    quick: false,
    socket: false,
    record: false,
    only: undefined,
    rounds: undefined,
    print: (line) => void printed.push(line),
    note: (line) => void printed.push(line),
    ...given,
  };
  return { options, printed };
}

describe("the bench keyset", () => {
  it("KEY-1 KEY-4 KEY-9 ours keeps its bounds", async () => {
    const { options, printed } = collecting({ json: true, only: ["svc"] });
    expect(await keyset.run(options)).to.equal(0);
    const figures = printed.map((line) => JSON.parse(line) as { metric: string; value: number });
    const values = new Map(figures.map(({ metric, value }) => [metric, value]));
    expect(values.get("fetches/50-cold")).to.be.within(1, 6);
    expect(values.get("fetches/200-random-kids")).to.be.within(0, 1);
    expect(values.get("fetches/100-concurrent")).to.be.within(1, 2);
    expect(values.get("answered/outage-of-20")).to.equal(20);
  });

  it("says which cases there are", async () => {
    const { options } = collecting({ only: ["nothing"] });
    const outcome: unknown = await keyset.run(options).catch((error: unknown) => error);
    expect(String(outcome)).to.include("there is no case nothing; there are svc, jose, jwks-rsa");
  });
});
