import { loadTest, LoadTestError, type LoadTestOptions } from "@svc/load-test";
import { expect } from "chai";
import { rejection } from "@svc/test-support";
import { command } from "./support/command.ts";

const url = "http://127.0.0.1:9";

async function messageOf(options: Partial<LoadTestOptions>): Promise<string> {
  const error = await rejection(loadTest({ url, ...options }));
  expect(error).to.be.instanceOf(LoadTestError);
  expect(error.code).to.equal("ERR_SVC_LOAD_TEST_USAGE");
  return error.message;
}

describe("loadTest()", () => {
  const invalid: readonly (readonly [Partial<LoadTestOptions>, string])[] = [
    [
      { url: "localhost:8000" },
      'url must be an http:// or https:// URL without credentials, query and fragment; got "localhost:8000"',
    ],
    [{ url: "nonsense" }, 'got "nonsense"'],
    [{ url: "http://ann:hunter2@host/" }, 'got "http://host"'],
    [{ url: "http://host/?a=1" }, "without credentials, query and fragment"],
    [{ clients: [] }, 'clients must be whole numbers from 1 to 10,000; got ""'],
    [{ clients: [4, 0] }, 'clients must be whole numbers from 1 to 10,000; got "4,0"'],
    [{ clients: [1.5] }, "clients must be whole numbers"],
    [{ seconds: 0 }, "seconds must be a number from 0.1 to 86,400; got 0"],
    [{ seconds: Number.NaN }, "seconds must be a number from 0.1 to 86,400; got NaN"],
    [{ warmUpSeconds: -1 }, "warmUpSeconds must be a number from 0 to 3,600; got -1"],
    [{ rate: 2e6 }, "rate must be a number from 0.1 to 1,000,000; got 2000000"],
    [{ timeoutSeconds: 0.01 }, "timeoutSeconds must be a number from 0.1 to 3,600; got 0.01"],
    [{ maxP99Ms: -1 }, "maxP99Ms must be a number from 0 to 3,600,000; got -1"],
    [{ maxErrorRate: 101 }, "maxErrorRate must be a number from 0 to 100; got 101"],
    [{ routes: ["items"] }, 'routes must be a path that begins with /; got "items"'],
    [{ routes: ["//other.example/x"] }, 'routes must be a path that begins with /; got "//other.example/x"'],
    [{ methods: ["DELETE"] }, 'methods must be one of GET, POST, PUT, PATCH; got "DELETE"'],
    [{ headers: ["nonsense"] }, "headers must be a header such as 'X-Tenant: acme', in ASCII"],
    [
      { headers: ["Content-Length: 1"] },
      "headers must not set Content-Length, which the load test sets itself",
    ],
    [
      { headers: ["Authorization: x"], token: "y" },
      "headers Authorization and token cannot be used together",
    ],
  ];
  for (const [options, expected] of invalid) {
    it(`rejects the options ${JSON.stringify(options)}`, async () => {
      expect(await messageOf(options)).to.include(expected);
    });
  }

  const wrongTypes: readonly (readonly [string, unknown, string])[] = [
    ["url", undefined, "URL without credentials, query and fragment; got undefined"],
    ["clients", 16, "clients must be a list of whole numbers from 1 to 10,000; got 16"],
    ["clients", ["4"], 'clients must be whole numbers from 1 to 10,000; got "4"'],
    ["routes", "/x", 'routes must be a list of paths that begin with /; got "/x"'],
    ["routes", [["/x"]], "routes must be a path that begins with /; got a list"],
    ["methods", "POST", 'methods must be a list of GET, POST, PUT, PATCH; got "POST"'],
    ["methods", [5n], "methods must be one of GET, POST, PUT, PATCH; got 5"],
    ["headers", { "X-Key": "secret" }, "headers must be a list of headers such as 'X-Tenant: acme'"],
    ["headers", [["X-Key: secret"]], "headers must be a header such as 'X-Tenant: acme', in ASCII"],
    ["token", 5, "token must be 1 to 16,384 visible ASCII characters"],
    ["seconds", "5", 'seconds must be a number from 0.1 to 86,400; got "5"'],
    ["includeFramework", "no", 'includeFramework must be true or false; got "no"'],
    ["signal", {}, "signal must be an AbortSignal; got an object"],
    ["onStep", "x", 'onStep must be a function; got "x"'],
    ["onProgress", {}, "onProgress must be a function; got an object"],
  ];
  for (const [option, value, expected] of wrongTypes) {
    it(`rejects a wrong type of ${option}: ${typeof value}, ${Array.isArray(value) ? "a list" : "no list"}`, async () => {
      const message = await messageOf({ [option]: value });
      expect(message).to.include(expected);
      expect(message).not.to.include("secret");
    });
  }

  it("accepts null for an option without a value, as for one that is missing", async () => {
    const none = { routes: null, clients: null, includeFramework: null, signal: null, onStep: null };
    const error = await rejection(loadTest({ url, ...none } as never));
    expect(error.code).to.equal("ERR_SVC_LOAD_TEST_TARGET");
  });

  it("rejects a token with a space or a line break, without the token in the message", async () => {
    for (const token of ["", "secret one", "secret\n", "sécret"])
      expect(await messageOf({ token })).to.equal("token must be 1 to 16,384 visible ASCII characters");
  });
});

describe("the command line", () => {
  const invalid: readonly (readonly [readonly string[], string])[] = [
    [[], "the URL of the service is missing"],
    [[url, url], "there must be only one URL of a service"],
    [[url, "--rout", "/x"], "--rout is not a flag; run load-test --help"],
    [[url, "-d"], "Option '-d, --duration <value>' argument missing"],
    [[url, "-c", "1,x"], '-c must be a number; got "x"'],
    [[url, "-c", "0"], '-c must be whole numbers from 1 to 10,000; got "0"'],
    [[url, "-d", "1e3"], '-d must be a number; got "1e3"'],
    [[url, "-d", "0"], "-d must be a number from 0.1 to 86,400; got 0"],
    [[url, "--max-p99-ms", "4000000"], "--max-p99-ms must be a number from 0 to 3,600,000; got 4000000"],
    [[url, "--method", "get"], '--method must be one of GET, POST, PUT, PATCH; got "get"'],
    [[url, "-H", "Bad Name: x"], "-H must be a header such as 'X-Tenant: acme', in ASCII"],
    [[url, "--token", "a", "--token-file", "b"], "--token and --token-file cannot be used together"],
    [[url, "--token-file", "/nonexistent"], "--token-file /nonexistent cannot be used: ENOENT"],
    [
      ["ftp://host"],
      'URL must be an http:// or https:// URL without credentials, query and fragment; got "ftp://host"',
    ],
  ];
  for (const [given, expected] of invalid) {
    it(`exits with 2 and names the flag for ${given.join(" ") || "no arguments"}`, async () => {
      const { code, stdout, stderr } = await command(given);
      expect(stderr).to.equal(`load-test: ${expected}\n`);
      expect([code, stdout]).to.deep.equal([2, ""]);
    });
  }

  it("LOAD-2 prints every flag with its default for --help", async () => {
    const { code, stdout } = await command(["--help"]);
    expect(code).to.equal(0);
    const named =
      "--route --method -c -d --token --token-file -H --timeout --k6 --json --fail-on-break --max-p99-ms";
    const others = "--max-error-rate --include-framework --rate --html --warm-up";
    for (const flag of `${named} ${others}`.split(" "))
      expect(stdout).to.match(new RegExp(`^  ${flag}\\b`, "m"));
    expect(stdout).to.match(/--clients N,N .*\(1,4,16,64\)$/m);
  });

  it("exits with 2 if the first line of the token file is empty", async () => {
    const { code, stderr } = await command([url, "--token-file", "-"], { input: "\n" });
    expect([code, stderr]).to.deep.equal([2, "load-test: --token-file - has an empty first line\n"]);
  });
});
