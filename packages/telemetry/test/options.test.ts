import { ConfigurationError } from "@svc/options";
import { telemetry } from "@svc/telemetry";
import { collectingLogger } from "@svc/test-support";
import { expect } from "chai";
import { below, shownUrl, tracesUrl } from "../src/endpoint.ts";
import { telemetryOptions } from "../src/options.ts";

/** Returns the faults in options of telemetry(), one text for each. */
function faultsOf(options: object): readonly string[] {
  try {
    void telemetry({ service: "orders", ...options }).stop();
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.faults.map(({ key, message }) => `${key}: ${message}`);
  }
  return [];
}

const url = "must be an http or https URL, such as http://127.0.0.1:4318 (the value is not shown)";
const headers = "must be an object of header values by name (the value is not shown)";
const paths = 'must be a list in which each entry is a path or template that begins with "/"';
const exporters = 'must be one of "otlp", "memory", "console"';

/** Wrong values by option, each with its fault. */
const wrong: readonly (readonly [option: string, value: unknown, fault: string])[] = [
  ["service", "", 'must be a non-empty string; it is ""'],
  ["service", 5, "must be a non-empty string; it is 5"],
  ["version", "", 'must be a non-empty string; it is ""'],
  [
    "env",
    "production",
    'must be one of "local", "dev", "staging", "prod"; it is "production"; did you mean "prod"?',
  ],
  ["endpoint", "collector:4318", url],
  ["endpoint", "ftp://collector", url],
  ["endpoint", "http://", url],
  ["endpoint", "http://user:%@collector", url],
  ["endpoint", 4318, url],
  ["tracesEndpoint", "/v1/traces", url],
  ["headers", [], headers],
  ["headers", null, headers],
  ["headers", { "x-key": 5 }, headers],
  ["headers", { "x key": "secret" }, headers],
  ["headers", { "": "secret" }, headers],
  ["headers", { "x-key": "secret\r\nx-other: 1" }, headers],
  ["headers", { "x-key": "\u20ac" }, headers],
  ["exporter", "jaeger", `${exporters}; it is "jaeger"`],
  ["sampleRatio", 1.5, "must be a number from 0 to 1; it is 1.5"],
  ["sampleRatio", -0.1, "must be a number from 0 to 1; it is -0.1"],
  ["sampleRatio", Number.NaN, "must be a number from 0 to 1; it is NaN"],
  ["sampleRatio", "1", 'must be a number from 0 to 1; it is "1"'],
  ["recordSqlStatement", "yes", 'must be true or false; it is "yes"'],
  ["excludePaths", ["health"], `${paths}; it is ["health"]`],
  ["excludePaths", ["/a?b"], `${paths}; it is ["/a?b"]`],
  ["excludePaths", "/health", `${paths}; it is "/health"`],
  ["exportTimeoutMs", 9, "must be a number from 10 to 600000; it is 9"],
  ["exportTimeoutMs", 600_001, "must be a number from 10 to 600000; it is 600001"],
  ["shutdownTimeoutMs", 9_001, "must be a number from 10 to 9000; it is 9001"],
  ["shutdownTimeoutMs", Infinity, "must be a number from 10 to 9000; it is Infinity"],
  ["logger", {}, "must be a logger (an object with info(), warn(), error()); it is an object"],
  ["now", 5, "must be a function; it is 5"],
  ["sampelRatio", 1, "is unknown; did you mean sampleRatio?"],
];

describe("the options of telemetry()", () => {
  it("TRACE-6 TRACE-27 have the defaults of the contract", () => {
    const { now, ...others } = telemetryOptions.resolve({ service: "orders" });
    expect(now()).to.be.a("number");
    expect(others).to.deep.equal({
      service: "orders",
      version: "unknown",
      env: "prod",
      endpoint: "",
      tracesEndpoint: "",
      headers: {},
      exporter: "otlp",
      sampleRatio: 1,
      recordSqlStatement: false,
      excludePaths: ["/health", "/ready", "/metrics"],
      exportTimeoutMs: 10_000,
      shutdownTimeoutMs: 5_000,
      logger: undefined,
    });
  });

  for (const [option, value, fault] of wrong) {
    it(`are rejected with ${option} = ${JSON.stringify(value) ?? String(value)}`, () => {
      expect(faultsOf({ [option]: value })).to.deep.equal([`${option}: ${fault}`]);
    });
  }

  it("must include a service; one error lists all faults", () => {
    expect(faultsOf({ service: undefined, sampleRatio: 2, exporter: "x" })).to.deep.equal([
      "service: is required and must be a non-empty string",
      `exporter: ${exporters}; it is "x"`,
      "sampleRatio: must be a number from 0 to 1; it is 2",
    ]);
  });

  it('must include a logger with exporter = "console"', () => {
    expect(faultsOf({ exporter: "console" })).to.deep.equal([
      'logger: is required with exporter = "console"',
    ]);
    expect(faultsOf({ exporter: "console", logger: collectingLogger() })).to.deep.equal([]);
  });

  it("accept the console, which has no fatal(), as the logger", async () => {
    await telemetry({ service: "orders", logger: console }).stop();
  });

  it("accept the bounds of each range, empty endpoints and path templates", () => {
    for (const options of [
      { sampleRatio: 0, exportTimeoutMs: 10, shutdownTimeoutMs: 10 },
      { sampleRatio: 1, exportTimeoutMs: 600_000, shutdownTimeoutMs: 9_000 },
      { endpoint: "", tracesEndpoint: "", excludePaths: [], headers: {} },
      { excludePaths: ["/", "/files/:id"], headers: { "x-key": "\u00e4\tb" } },
    ]) {
      expect(faultsOf(options)).to.deep.equal([]);
    }
  });
});

describe("the endpoint", () => {
  it("TRACE-2 gets the path /v1/traces when it has none", () => {
    const urls = ["http://c:4318", "http://c:4318/", "http://c:4318/?a=1", "http://c:4318/x", "http://c/x/"];
    expect(urls.map(tracesUrl)).to.deep.equal([
      "http://c:4318/v1/traces",
      "http://c:4318/v1/traces",
      "http://c:4318/v1/traces?a=1",
      "http://c:4318/x",
      "http://c/x/",
    ]);
  });

  it("TRACE-2 gets /v1/traces appended to its path when it is a base URL", () => {
    const urls = ["http://c:4318", "http://c/otlp", "http://c/otlp//", "http://u:p@c/?a=1"];
    expect(urls.map(below)).to.deep.equal([
      "http://c:4318/v1/traces",
      "http://c/otlp/v1/traces",
      "http://c/otlp/v1/traces",
      "http://u:p@c/v1/traces?a=1",
    ]);
  });

  it("TRACE-24 is shown without user-info, query and fragment", () => {
    expect(shownUrl("https://user:secret@c:4318/v1/traces?key=secret#secret")).to.equal(
      "https://c:4318/v1/traces",
    );
    expect(shownUrl("https://secret@[::1]:4318/v1/traces")).to.equal("https://[::1]:4318/v1/traces");
  });
});
