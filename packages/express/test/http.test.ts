import { ConfigurationError } from "@svc/options";
import { until } from "@svc/test-support";
import { expect } from "chai";
import request from "supertest";
import {
  makeService,
  startService,
  type TestService,
  type TestServiceOptions,
} from "./support/test-service.ts";

const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const SECRET = "a-secret-of-the-tests-with-32-bytes";

/** A service that returns the headers of a request. */
function startEcho(plugins = ""): Promise<TestService> {
  return startService({
    toml: plugins,
    routes(app) {
      app.all("/echo", (req, res) => res.json(req.headers));
      app.get(
        "/status/:status",
        (req, res) => void res.status(Number(req.params.status)).send("upstream's secret"),
      );
      app.get("/hang", () => undefined);
    },
  });
}

function callerOf(url: string, keys = "", options: TestServiceOptions = {}): Promise<TestService> {
  const { toml = "", ...more } = options;
  return startService({
    toml: `${toml}[plugins]
enabled = ["observability", "telemetry", "http"]
[plugin.telemetry]
exporter = "memory"
[plugin.http.upstreams.echo]
base_url = "${url}"
${keys}`,
    routes(app, service) {
      app.get("/call/*path", async (req, res) => {
        const response = await service.http?.("echo").get(req.originalUrl.slice("/call".length));
        res.json(response?.json());
      });
      app.get("/unknown", () => service.http?.("billing"));
    },
    ...more,
  });
}

async function faultsOf(toml: string): Promise<readonly string[]> {
  try {
    const { service } = await makeService({ toml });
    await service.stop();
  } catch (error) {
    if (error instanceof ConfigurationError)
      return error.faults.map(({ key, message }) => `${key}: ${message}`);
    throw error;
  }
  return [];
}

describe("the plugin `http`", function () {
  this.timeout(30_000);
  let echo: TestService;
  before(async () => (echo = await startEcho()));
  after(() => echo[Symbol.asyncDispose]());

  it("HTTP-1 HTTP-2 HTTP-3 TRACE-9 TRACE-19 sends the request id and its span's trace, but no tenant or token", async () => {
    await using test = await callerOf(echo.url);
    const { body } = await request(test.url)
      .get("/call/echo")
      .set({ "X-Request-ID": "request-1", traceparent: TRACEPARENT, tracestate: "a=1" })
      .set({ Authorization: "Bearer abc", "X-Tenant-ID": "acme", Cookie: "session=1" });
    expect(body).to.include({ "x-request-id": "request-1", tracestate: "a=1" });
    expect(body).to.not.have.any.keys("authorization", "x-tenant-id", "cookie");
    const spans = test.service.telemetry?.spans() ?? [];
    const span = spans.find(({ kind }) => kind === "client");
    const server = spans.find(({ kind }) => kind === "server");
    expect(span).to.include({
      name: "GET echo",
      parentSpanId: server?.spanId,
      traceId: TRACEPARENT.slice(3, 35),
    });
    expect(span?.attributes).to.deep.equal({
      "jfast.upstream": "echo",
      "server.address": "127.0.0.1",
      "http.response.status_code": 200,
    });
    expect((body as Record<string, string>)["traceparent"]).to.equal(
      `00-${span?.traceId ?? ""}-${span?.spanId ?? ""}-01`,
    );
  });

  it("HTTP-3 sends the caller's token with forward_authorization, verified or not", async () => {
    await using test = await callerOf(echo.url, "forward_authorization = true");
    const { body } = await request(test.url).get("/call/echo").set("Authorization", `Bearer ${SECRET}`);
    expect(body).to.include({ authorization: `Bearer ${SECRET}` });
    expect(JSON.stringify(test.lines)).to.not.contain(SECRET);
  });

  it("ERR-1 returns a problem without any part of the upstream's response when the upstream fails", async () => {
    await using test = await callerOf(echo.url, "attempts = 1");
    for (const [sent, status, detail] of [
      [500, 502, "the service 'echo' sent an invalid response"],
      [503, 503, "the service 'echo' is not answering"],
      [504, 504, "the service 'echo' did not answer in time"],
    ] as const) {
      const response = await request(test.url).get(`/call/status/${sent}`);
      expect(response.status).to.equal(status);
      expect(response.type).to.equal("application/problem+json");
      expect(response.body).to.include({ status, detail });
      expect(response.headers["retry-after"]).to.equal(status === 503 ? "1" : undefined);
      expect(JSON.stringify(test.lines)).to.not.contain("upstream's secret");
    }
  });

  it("aborts calls at the request timeout", async () => {
    await using test = await callerOf(echo.url, "attempts = 1", { toml: "request_timeout = 0.2\n" });
    expect((await request(test.url).get("/call/hang")).status).to.equal(504);
    await until("the call has ended", () =>
      (test.service.telemetry?.spans() ?? []).some(
        ({ kind, status }) => kind === "client" && status === "error",
      ),
    );
  });

  it("RDY-16 reports an upstream that does not respond, which is critical only if the file says so", async () => {
    for (const critical of [false, true]) {
      await using gone = await startEcho();
      await gone[Symbol.asyncDispose]();
      await using test = await callerOf(gone.url, `attempts = 1\ncritical = ${critical}`);
      for (let call = 0; call < 5; call++) await request(test.url).get("/call/echo");
      const { status, body } = await request(test.url).get("/ready");
      const check = (body as { checks: Record<string, object> }).checks["http:echo"];
      expect(status).to.equal(critical ? 503 : 200);
      expect(check).to.include({ healthy: false, critical });
      expect(JSON.stringify(check)).to.contain("not answering").and.not.contain("127.0.0.1");
    }
  });

  it("throws a TypeError that lists the upstreams when an upstream is unknown", async () => {
    await using test = await callerOf(echo.url);
    expect((await request(test.url).get("/unknown")).status).to.equal(500);
    expect(() => test.service.http?.("billing")).to.throw(
      TypeError,
      "there is no upstream billing in [plugin.http.upstreams]; there are: echo",
    );
  });

  const enabled = '[plugins]\nenabled = ["http"]\n';
  const base = "must be http:// or https:// without path, query and user-info";
  for (const [toml, fault] of [
    ['[plugin.http.upstreams.billing]\nbase_url = "http://user:geheim@billing"', `base_url: ${base}`],
    ['[plugin.http.upstreams.billing]\nbase_url = "http://billing/api"', `base_url: ${base}`],
    ["[plugin.http.upstreams.billing]\nattempts = 2", "base_url: is required"],
    [
      '[plugin.http.upstreams.billing]\nbase_url = "http://b"\nattempts = 0',
      "attempts: must be a whole number",
    ],
    ['[plugin.http.upstreams.billing]\nbase_url = "http://b"\ntimeout = 0', "timeout: is unknown"],
    [
      '[plugin.http.upstreams."a b"]\nbase_url = "http://b"',
      "the name of an upstream must be 1 to 64 letters",
    ],
  ] as const) {
    it(`CFG-12 prevents the service from starting: ${fault}`, async () => {
      const faults = await faultsOf(enabled + toml);
      expect(faults.join("\n"))
        .to.contain("plugin.http.upstreams.")
        .and.contain(fault)
        .and.not.contain("geheim");
    });
  }
});
