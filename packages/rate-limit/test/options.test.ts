import { ConfigurationError, withNames } from "@svc/options";
import { rateLimit, type RateLimitOptions } from "@svc/rate-limit";
import { expect } from "chai";

function faultsOf(options: object): readonly string[] {
  try {
    rateLimit(options as RateLimitOptions);
    return [];
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.faults.map(({ key, message }) => `${key} ${message}`);
  }
}

describe("the options of rateLimit()", () => {
  it("accept limits from 1 to 1,000,000,000", () => {
    expect(faultsOf({ limit: 1 })).to.deep.equal([]);
    expect(faultsOf({ limit: 1e9, burst: 1e9, windowSeconds: 86_400 })).to.deep.equal([]);
    for (const limit of [0, -1, 1.5, 1e9 + 1, Number.NaN, Infinity, "5"]) {
      expect(faultsOf({ limit }), String(limit)).to.have.length(1);
      expect(faultsOf({ limit })[0]).to.match(/^limit must be a whole number from 1 to 1,000,000,000/);
    }
  });

  it("accept any logger with info() and warn(), such as the console", () => {
    const options: RateLimitOptions = { logger: console };
    expect(faultsOf(options)).to.deep.equal([]);
    expect(faultsOf({ logger: { info: () => undefined } })[0]).to.match(/^logger .* it has no warn\(\)$/);
  });

  it("reject a burst below a constant cost", () => {
    const fault = "burst must be at least cost; it is 5, and cost is 6";
    expect(faultsOf({ limit: 5, cost: 6 })).to.deep.equal([fault]);
    expect(faultsOf({ limit: 10, burst: 5, cost: 6 })).to.deep.equal([fault]);
    expect(faultsOf({ limit: 5, burst: 6, cost: 6 })).to.deep.equal([]);
    expect(() => rateLimit().route({ limit: 5, scope: "x", cost: 6 })).to.throw(
      ConfigurationError,
      fault.slice(6),
    );
  });

  it("are reported together in one error if they have the wrong type", () => {
    const names = faultsOf({
      windowSeconds: 0.5,
      burst: 0,
      cost: 0,
      scope: "a:b",
      key: "x",
      store: {},
      failOpen: 1,
      exemptPaths: ["/a/"],
      commandTimeoutMs: 0,
      service: "a\nb",
      tokens: 1,
    }).map((fault) => fault.split(" ")[0]);
    expect(names).to.have.members([
      "tokens",
      "windowSeconds",
      "burst",
      "cost",
      "scope",
      "key",
      "store",
      "failOpen",
      "exemptPaths",
      "commandTimeoutMs",
      "service",
    ]);
  });

  it("are rejected in route() if only rateLimit() accepts them", () => {
    expect(() => rateLimit().route({ exemptPaths: ["/x"] } as never)).to.throw(
      ConfigurationError,
      "exemptPaths",
    );
  });

  it("are named by their key in the file if the file has set them", () => {
    const names = { subject: "the service", of: (option: string) => `plugin.rate_limit.${option}` };
    expect(faultsOf(withNames({ limit: 0 }, names))[0]).to.match(
      /^plugin\.rate_limit\.limit must be a whole/,
    );
  });
});
