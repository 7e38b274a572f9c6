import { spawnSync } from "node:child_process";
import { expect } from "chai";
import { k6Script } from "../src/k6-script.ts";
import { type LoadTestOptions, resolveOptions } from "../src/options.ts";
import type { PlannedRequest } from "../src/plan.ts";

const get: PlannedRequest = {
  route: "GET /items",
  method: "GET",
  path: "/items",
  headers: {},
  body: undefined,
};

function scriptOf(
  options: Partial<LoadTestOptions> = {},
  requests: readonly PlannedRequest[] = [get],
): string {
  return k6Script(requests, resolveOptions({ url: "http://host:8000", ...options }));
}

/** Parses the script as a module, as `node --check` does. */
function expectValid(script: string): void {
  const { status, stderr } = spawnSync(process.execPath, ["--check", "--input-type=module", "-"], {
    input: script,
  });
  expect(status, stderr.toString()).to.equal(0);
}

describe("the script for k6", () => {
  it("LOAD-2 is a valid module with the same requests, steps and limits", () => {
    const body = 'a "quoted" `text` ${x} \u2028 </script>';
    const post = { ...get, method: "POST", headers: { "content-type": "text/plain" }, body };
    const script = scriptOf({ clients: [1, 4], seconds: 5, maxP99Ms: 250, maxErrorRate: 2 }, [get, post]);
    expectValid(script);
    expect(script).to.include('__ENV.BASE_URL || "http://host:8000"');
    expect(script).to.include('load_errors: ["rate<=0.02"]');
    expect(script).to.include('http_req_duration: ["p(99)<=250"]');
    expect(script.match(/"target": \d/g)).to.deep.equal([
      '"target": 1',
      '"target": 1',
      '"target": 4',
      '"target": 4',
    ]);
    expect(script).to.include("redirects: 0");
    expect(script).not.to.include("\u2028");
    expect(script).to.include(JSON.stringify(body).replace("\u2028", "\\u2028"));
  });

  it("LOAD-2 reads the token and given headers from variables, and does not contain their values", () => {
    const script = scriptOf({ token: "secret-token", headers: ["X-Api-Key: hunter2"] }, [
      { ...get, path: "/items?token=secret-token" },
    ]);
    expectValid(script);
    expect(script).not.to.match(/secret-token|hunter2/);
    expect(script).to.include('common["authorization"] = "Bearer " + __ENV.TOKEN');
    expect(script).to.include('common["x-api-key"] = __ENV.HEADER_X_API_KEY');
    expect(scriptOf()).not.to.include("TOKEN");
    const basic = scriptOf({ headers: ["Authorization: Basic YTpi"] });
    expectValid(basic);
    expect(basic).not.to.include("YTpi");
    expect(basic).to.include('common["authorization"] = __ENV.HEADER_AUTHORIZATION');
  });

  it("LOAD-2 contains the token neither in a header of a route nor in an encoded form", () => {
    const token = "a+b/c~'\"\\==";
    const form = new URLSearchParams({ q: token }).toString();
    const encoded = [
      { ...get, headers: { "x-echo": `is ${token}` } },
      { ...get, path: `/items?q=${encodeURIComponent(token)}` },
      { ...get, method: "POST", body: form },
      { ...get, method: "POST", body: JSON.stringify({ q: token }) },
    ];
    for (const request of encoded) {
      const script = scriptOf({ token }, [request]);
      expectValid(script);
      expect(script).to.include("[token]");
      expect(script).not.to.match(/a\+b|a%2Bb/);
    }
  });

  it("LOAD-2 contains [token] once for a token that is a plain word", () => {
    const script = scriptOf({ token: "token" }, [{ ...get, path: "/items?q=token" }]);
    expect(script).to.include('"path": "/items?q=[token]"');
  });

  it("has a constant arrival rate for --rate, even for a fractional rate", () => {
    const whole = scriptOf({ rate: 500, seconds: 10, clients: [1, 8] });
    expect(whole).to.match(/"constant-arrival-rate",\s+"rate": 500,\s+"timeUnit": "1s",\s+"duration": "20s"/);
    const broken = scriptOf({ rate: 0.5 });
    expect(broken).to.match(/"rate": 500,\s+"timeUnit": "1000s"/);
    expectValid(broken);
  });
});
