import { expect } from "chai";
import type { BenchOptions } from "../harness/bench.ts";
import { keyset } from "../keyset/bench.ts";
import { cases } from "../keyset/cases.ts";
import { scenarios } from "../keyset/scenarios.ts";

interface Collecting {
  readonly options: BenchOptions;
  readonly printed: string[];
  readonly noted: string[];
}

function collecting(given: Partial<BenchOptions>): Collecting {
  const [printed, noted]: [string[], string[]] = [[], []];
  const options: BenchOptions = {
    json: false,
    quick: false,
    socket: false,
    record: false,
    only: undefined,
    rounds: undefined,
    print: (line) => void printed.push(line),
    note: (line) => void noted.push(line),
    ...given,
  };
  return { options, printed, noted };
}

describe("the keyset benchmark", () => {
  it("KEY-1 KEY-4 KEY-9 returns 0 when the results of svc are within its bounds", async () => {
    const { options, printed } = collecting({ json: true, only: ["svc"] });
    expect(await keyset.run(options)).to.equal(0);
    const figures = printed.map((line) => JSON.parse(line) as { metric: string; value: number });
    const values = new Map(figures.map(({ metric, value }) => [metric, value]));
    expect(values.get("fetches/50-cold")).to.be.within(1, 6);
    expect(values.get("fetches/200-random-kids")).to.be.within(0, 1);
    expect(values.get("fetches/100-concurrent")).to.be.within(1, 2);
    expect(values.get("answered/outage-of-20")).to.equal(20);
  });

  it("checks no bounds with --quick", async () => {
    const { options, noted } = collecting({ quick: true, only: ["svc"] });
    expect(await keyset.run(options)).to.equal(0);
    expect(noted.at(-1)).to.equal("--quick: bounds are not judged");
    expect(noted.slice(0, -1).every((line) => line.startsWith("     svc "))).to.equal(true);
  });

  it("counts fewer fetches by jwks-rsa for random key ids when its rate limit is on", async () => {
    const random = scenarios.find(({ metric }) => metric === "fetches/200-random-kids");
    const fetchesOf = (name: string): Promise<number> | undefined => {
      const make = cases[name];
      return make === undefined ? undefined : random?.run(make);
    };
    expect(await fetchesOf("jwks-rsa")).to.equal(200);
    expect(await fetchesOf("jwks-rsa-limited")).to.equal(9);
  });

  it("rejects an unknown case, and lists the known cases", async () => {
    const { options } = collecting({ only: ["nothing"] });
    const outcome: unknown = await keyset.run(options).catch((error: unknown) => error);
    expect(String(outcome)).to.include(
      "there is no case nothing; there are svc, jose, jwks-rsa, jwks-rsa-limited",
    );
  });
});
