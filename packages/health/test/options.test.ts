import { health, type HealthOptions } from "@svc/health";
import { ConfigurationError } from "@svc/options";
import { expect } from "chai";
import { check } from "./support/checks.ts";

const about = { service: "orders", version: "1.2.3", env: "local" } as const;

function faultsOf(options: object): string[] {
  try {
    health(options as HealthOptions);
  } catch (error) {
    if (error instanceof ConfigurationError) return error.faults.map(({ key }) => key);
    throw error;
  }
  return [];
}

describe("options of health()", () => {
  it("are rejected in a single error that lists all faults", () => {
    const wrong = { version: "", env: "production", reuseMs: 5_000, readinessTimeoutSeconds: 0, chekcs: [] };
    expect(faultsOf(wrong)).to.have.members([
      "service",
      "version",
      "env",
      "reuseMs",
      "readinessTimeoutSeconds",
      "chekcs",
    ]);
  });

  it("may be undefined, which means omitted", () => {
    expect(faultsOf({ ...about, checks: undefined, reuseMs: undefined, now: undefined })).to.deep.equal([]);
  });

  it("accept any logger with info(), warn() and error(), such as the console", () => {
    const options: HealthOptions = { ...about, logger: console };
    expect(faultsOf(options)).to.deep.equal([]);
    const { info, warn } = console;
    expect(faultsOf({ ...about, logger: { info, warn } })).to.deep.equal(["logger"]);
  });

  it("are rejected if they contain an invalid check", () => {
    const good = check("db", true, { healthy: true });
    for (const bad of [
      null,
      {},
      { ...good, name: "" },
      { ...good, name: "a b" },
      { ...good, name: "shutdown" },
      { ...good, name: "startup" },
      { ...good, critical: undefined },
      { ...good, check: undefined },
    ]) {
      expect(faultsOf({ ...about, checks: [bad] }), JSON.stringify(bad)).to.deep.equal(["checks"]);
    }
    expect(faultsOf({ ...about, checks: [good] })).to.deep.equal([]);
  });

  it("are rejected with two checks of the same name, and addCheck() rejects the second", () => {
    const good = check("db", true, { healthy: true });
    expect(() => health({ ...about, checks: [good, good] })).to.throw(
      ConfigurationError,
      "checks: has two checks named db; rename one of them",
    );
    const middleware = health({ ...about, checks: [good] });
    expect(() => middleware.addCheck(good)).to.throw(ConfigurationError, "two checks named db");
    expect(() => middleware.addCheck({ name: "x" } as never)).to.throw(ConfigurationError, "check: must be");
  });

  it("are rejected if they contain a plugin without a name", () => {
    expect(faultsOf({ ...about, plugins: [{}] })).to.deep.equal(["plugins"]);
    expect(faultsOf({ ...about, plugins: [{ name: "a" }], providers: ["b"] })).to.deep.equal([]);
  });

  it("may contain plugins typed by a custom interface", () => {
    interface Description {
      readonly name: string;
      readonly mode: string;
    }
    const described: readonly Description[] = [{ name: "auth", mode: "jwks" }];
    expect(health({ ...about, plugins: described }).state()).to.equal("serving");
    expect(health({ ...about, plugins: () => described }).state()).to.equal("serving");
  });
});
