import { randomBytes } from "node:crypto";
import { createService } from "@svc/express";
import { ConfigurationError } from "@svc/options";
import { propagationHeaders } from "@svc/request-id";
import { signToken, until } from "@svc/test-support";
import { openOtlpReceiver } from "@svc/test-support/otlp";
import { expect } from "chai";
import express from "express";
import request from "supertest";
import { runChild } from "./support/child.ts";
import {
  makeService,
  startService,
  type TestService,
  type TestServiceOptions,
} from "./support/test-service.ts";

const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const NOT_EXPORTING = "not exporting: set SVC_TELEMETRY_ENDPOINT";
const INSTALL =
  "npm install @opentelemetry/api @opentelemetry/sdk-trace @opentelemetry/context-async-hooks @opentelemetry/exporter-trace-otlp-http";

/** Returns the part of a file that follows `[service]`, with the plugins and the keys of `[plugin.telemetry]`. */
function toml(keys = "", plugins = '"observability", "telemetry"'): string {
  return `[plugins]\nenabled = [${plugins}]\n[plugin.telemetry]\n${keys}\n`;
}

/** Returns the faults of a service that does not start, one string per fault. */
async function faultsOf(options: TestServiceOptions): Promise<readonly string[]> {
  try {
    await makeService(options);
  } catch (error) {
    if (!(error instanceof ConfigurationError)) throw error;
    return error.faults.map(({ key, message }) => `${key}: ${message}`);
  }
  return expect.fail("the service was put together");
}

interface Check {
  readonly healthy: boolean;
  readonly critical: boolean;
  readonly detail: string;
  readonly meta?: object;
}

/** Returns the status of `/ready`, and its check of tracing. */
async function readinessOf({ url }: TestService): Promise<{ status: number; state: string; check: Check }> {
  const { status, body } = await request(url).get("/ready");
  const { status: state, checks } = body as { status: string; checks: Record<string, Check> };
  return { status, state, check: checks["telemetry"] ?? expect.fail("there is no check") };
}

/** Returns the destination of a service's spans, as `/ready` shows it. */
async function targetOf(options: TestServiceOptions): Promise<string> {
  const { service } = await makeService(options);
  const check = service.telemetry?.readiness() ?? expect.fail("there is no tracing");
  const { detail } = await check.check(new AbortController().signal);
  await service.stop();
  return detail.replace(/^exporting to (.*): 0 span.*$/, "$1");
}

const routes: TestServiceOptions["routes"] = (app) => {
  app.get("/orders/:id", (_req, res) => res.json(propagationHeaders()));
};

describe("the settings of the plugin `telemetry`", () => {
  it("TRACE-6 TRACE-27 have the keys and the defaults of the contract", async () => {
    const { service } = await makeService({ toml: toml() });
    expect(service.config.plugin.telemetry).to.deep.include({
      endpoint: "",
      tracesEndpoint: "",
      sampleRatio: 1,
      sql: true,
      recordSqlStatement: false,
      excludePaths: ["/health", "/ready", "/metrics"],
      exportTimeoutMs: 10_000,
      shutdownTimeoutMs: 5_000,
      exporter: "otlp",
      includeInfra: false,
      collectorHostPort: 4318,
    });
    const seconds = await makeService({ toml: toml("export_timeout = 0.5\nshutdown_timeout = 9") });
    expect(seconds.service.config.plugin.telemetry).to.include({
      exportTimeoutMs: 500,
      shutdownTimeoutMs: 9_000,
    });
  });

  const url = "must be an http or https URL, such as http://127.0.0.1:4318 (the value is not shown)";
  const wrongKeys: readonly (readonly [key: string, fault: string])[] = [
    ["sample_ratio = 1.5", "sample_ratio: must be a number from 0 to 1; it is 1.5"],
    ['endpoint = "hunter2"', `endpoint: ${url}`],
    ['traces_endpoint = "ftp://hunter2"', `traces_endpoint: ${url}`],
    ["export_timeout = 0", "export_timeout: must be a number from 0.01 to 600; it is 0"],
    ["shutdown_timeout = 10", "shutdown_timeout: must be a number from 0.01 to 9; it is 10"],
    ['exporter = "zipkin"', 'exporter: must be one of "otlp", "memory", "console"; it is "zipkin"'],
    ['sql = "no"', 'sql: must be true or false; it is "no"'],
    ["collector_host_port = 0", "collector_host_port: must be a whole number from 1 to 65535; it is 0"],
    ["sampel_ratio = 1", "sampel_ratio: is unknown; did you mean sample_ratio?"],
  ];
  for (const [key, fault] of wrongKeys) {
    it(`TRACE-6 CFG-14 are rejected at startup with ${key}`, async () => {
      expect(await faultsOf({ toml: toml(key) })).to.deep.equal([`plugin.telemetry.${fault}`]);
    });
  }

  it("TRACE-3 are rejected with headers in the file, which the error does not show", async () => {
    for (const headers of ['headers = { authorization = "hunter2" }', 'headers = "hunter2"', "headers = 5"]) {
      expect(await faultsOf({ toml: toml(headers) })).to.deep.equal([
        "plugin.telemetry.headers: is not allowed in the file: set SVC_TELEMETRY_HEADERS or OTEL_EXPORTER_OTLP_HEADERS",
      ]);
    }
  });

  it("TRACE-3 are rejected with a malformed SVC_TELEMETRY_HEADERS, which the error does not show", async () => {
    const malformed = [
      "hunter2",
      '["hunter2"]',
      '"hunter2"',
      "null",
      '{"x-key": 5, "y": "hunter2"}',
      '{"x key": "hunter2"}',
      '{"x-key": "hunter2\\nx-other: 1"}',
    ];
    for (const SVC_TELEMETRY_HEADERS of malformed) {
      expect(await faultsOf({ toml: toml(), env: { SVC_TELEMETRY_HEADERS } })).to.deep.equal([
        'SVC_TELEMETRY_HEADERS: must be a JSON object of header values, such as {"x-api-key":"..."} (the value is not shown)',
      ]);
    }
  });

  it("TRACE-3 are rejected with a malformed OTEL_EXPORTER_OTLP_HEADERS, which the error does not show", async () => {
    for (const headers of ["hunter2", "=hunter2", "x key=hunter2", "x=%zz", "x=hunter2%0Ay", "a=1,hunter2"]) {
      const env = { OTEL_EXPORTER_OTLP_HEADERS: headers };
      expect(await faultsOf({ toml: toml(), env })).to.deep.equal([
        "OTEL_EXPORTER_OTLP_HEADERS: must be headers as name=value,name=value (the value is not shown)",
      ]);
    }
  });

  it("TRACE-2 are rejected with a malformed endpoint in a variable; the error names the variable, not the value", async () => {
    for (const name of [
      "SVC_TELEMETRY_ENDPOINT",
      "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
      "OTEL_EXPORTER_OTLP_ENDPOINT",
    ]) {
      for (const value of ["hunter2", "http://", "https://hunter2:%@host"]) {
        expect(await faultsOf({ toml: toml(), env: { [name]: value } })).to.deep.equal([`${name}: ${url}`]);
      }
    }
  });

  it("TRACE-2 TRACE-24 take the endpoint from the first of five settings that is not empty", async () => {
    const settings = [
      ["traces_endpoint", "http://u:p@file-traces/x?key=1#f", "http://file-traces/x"],
      ["endpoint", "http://u:p@file?key=1", "http://file/v1/traces"],
      ["SVC_TELEMETRY_ENDPOINT", "http://u:p@svc/", "http://svc/v1/traces"],
      ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://otel-traces?key=1", "https://otel-traces/"],
      ["OTEL_EXPORTER_OTLP_ENDPOINT", "http://otel/base/?key=1", "http://otel/base/v1/traces"],
    ] as const;
    const optionsOf = (set: readonly (readonly [name: string, value: string, ...unknown[]])[]) => {
      const inFile = set.filter(([name]) => !/^[A-Z]/.test(name));
      return {
        toml: toml(inFile.map(([name, value]) => `${name} = "${value}"`).join("\n")),
        env: Object.fromEntries(set.filter((each) => !inFile.includes(each))),
      };
    };
    for (const [index, first] of settings.entries()) {
      const emptied = settings.slice(0, index).map(([name]) => [name, ""] as const);
      expect(await targetOf(optionsOf([...emptied, first]))).to.equal(first[2]);
      for (const second of settings.slice(index + 1))
        expect(await targetOf(optionsOf([first, second]))).to.equal(first[2]);
    }
    expect(await targetOf(optionsOf(settings.map(([name]) => [name, ""])))).to.equal(NOT_EXPORTING);
  });
});

describe("the plugin `telemetry` without an endpoint", () => {
  it("TRACE-1 TRACE-5 TRACE-23 COR-15 logs one line, traces nothing and passes the caller's trace on unchanged", async () => {
    const options: TestServiceOptions = {
      toml: `${toml("", '"telemetry", "database"')}[plugin.database]\nurl = "postgres://127.0.0.1:1/x"\n`,
      routes,
    };
    await using test = await startService(options);
    expect(test.lines.filter(({ message }) => String(message).includes("telemetry"))).to.have.lengthOf(1);
    expect(test.lines.map(({ level, message }) => `${String(level)} ${String(message)}`)).to.include(
      "info telemetry: not exporting; set SVC_TELEMETRY_ENDPOINT",
    );
    const headers = { traceparent: TRACEPARENT, tracestate: "b=2,a=1" };
    const { body } = await request(test.url).get("/orders/1").set(headers);
    expect(body).to.include(headers);
    const { check } = await readinessOf(test);
    expect(check).to.deep.equal({ healthy: true, status: "ok", detail: NOT_EXPORTING, critical: false });
    expect(test.service.telemetry).to.include({ exporting: false });
    expect(test.service.db?.pool.listenerCount("acquire")).to.equal(0);
    expect((await request(test.url).get("/debug/traces")).status).to.equal(404);
  });
});

describe("the plugin `telemetry` with an endpoint", () => {
  it("TRACE-3 TRACE-4 TRACE-14 exports its spans with the service's name, version, environment and headers", async () => {
    await using receiver = await openOtlpReceiver();
    const env = {
      SVC_ENV: "dev",
      SVC_TELEMETRY_ENDPOINT: new URL(receiver.url).origin,
      OTEL_EXPORTER_OTLP_HEADERS: " x-one=a%20b%2C , ,x-two=%C3%A4=,",
      OTEL_EXPORTER_OTLP_TRACES_HEADERS: "x-foreign=1",
      OTEL_TRACES_SAMPLER: "always_off",
      OTEL_RESOURCE_ATTRIBUTES: "team=foreign",
      OTEL_BSP_MAX_QUEUE_SIZE: "1",
    };
    const service = 'version = "1.2.3"\ndrain_delay = 0\n';
    const test = await startService({ toml: service + toml(), env, routes });
    await request(test.url).get("/orders/1");
    await test.service.stop();
    expect(receiver.spans.map(({ name }) => name)).to.deep.equal(["GET /orders/:id"]);
    expect(receiver.spans[0]?.resource).to.deep.equal({
      "service.name": "test",
      "service.version": "1.2.3",
      "deployment.environment.name": "dev",
    });
    expect(receiver.requests[0]?.headers).to.include({ "x-one": "a b,", "x-two": "\u00e4=" });
    expect(receiver.requests[0]?.headers).not.to.have.property("x-foreign");
    expect(JSON.stringify(test.lines)).not.to.contain("a b,").and.not.to.contain("a%20b");
  });

  it("TRACE-3 TRACE-4 sends only the headers in SVC_TELEMETRY_HEADERS if it is set, and uses OTEL_SERVICE_NAME", async () => {
    await using receiver = await openOtlpReceiver();
    const env = {
      SVC_TELEMETRY_HEADERS: '{"x-key":"hunter2"}',
      OTEL_EXPORTER_OTLP_HEADERS: "x-one=1,x-key=2",
      OTEL_SERVICE_NAME: "orders-eu",
    };
    const test = await startService({ toml: toml(`traces_endpoint = "${receiver.url}"`), env, routes });
    await request(test.url).get("/orders/1");
    await test.service.stop();
    expect(receiver.spans[0]?.resource).to.include({ "service.name": "orders-eu" });
    expect(receiver.requests[0]?.headers).to.include({ "x-key": "hunter2" });
    expect(receiver.requests[0]?.headers).not.to.have.property("x-one");
    expect(JSON.stringify(test.lines)).not.to.contain("hunter2");
  });

  it("TRACE-23 RDY-5 RDY-17 returns 200 and degraded from /ready while the export fails, and stops in time", async () => {
    await using receiver = await openOtlpReceiver({ behaviour: "500" });
    const keys = `traces_endpoint = "${receiver.url}"\nshutdown_timeout = 0.05`;
    await using test = await startService({ toml: toml(keys), routes });
    const { telemetry } = test.service;
    for (let span = 0; span < 512; span++) telemetry?.span("job a", "consumer", {}, () => undefined);
    await until("the failure", () => telemetry?.counts().failing);
    expect((await request(test.url).get("/orders/1")).status).to.equal(200);
    const { status, state, check } = await readinessOf(test);
    expect([status, state]).to.deep.equal([200, "degraded"]);
    expect(check).to.deep.equal({
      healthy: false,
      status: "fail",
      detail: "span export failing; spans are being dropped",
      critical: false,
      meta: { spans_exported: 0, batches_failed: 1, spans_dropped: 512, attributes_dropped: 0, failures: 0 },
    });
    receiver.behave("hang");
    expect(await test.service.stop()).to.equal(0);
  });

  it("exports the spans of two services in one process, even after one has stopped", async () => {
    await using one = await openOtlpReceiver();
    await using two = await openOtlpReceiver();
    const start = (endpoint: string): Promise<TestService> =>
      startService({ toml: toml(`traces_endpoint = "${endpoint}"`), app: express(), routes });
    const services = [await start(one.url), await start(two.url)] as const;
    await request(services[0].url).get("/orders/1");
    await services[0].service.stop();
    await request(services[1].url).get("/orders/1");
    await services[1].service.stop();
    expect([one.spans.length, two.spans.length]).to.deep.equal([1, 1]);
  });
});

describe("the exporters `memory` and `console` of the plugin `telemetry`", () => {
  const secret = randomBytes(32).toString("base64");
  const auth = '[plugin.auth]\nmode = "secret"\nalgorithms = ["HS256"]\naudience = ["test"]\n';
  const guarded = (env: string): TestServiceOptions => ({
    toml: `env = "${env}"\ndrain_delay = 0\n${toml('exporter = "memory"', '"telemetry", "auth"')}${auth}`,
    env: { SVC_AUTH_SECRET: secret },
    routes,
  });
  const bearer = (role: string): string => `Bearer ${signToken({ roles: [role], aud: "test" }, secret)}`;
  const statusOf = async ({ url }: TestService, token?: string): Promise<number> => {
    const asked = request(url).get("/debug/traces");
    return (await (token === undefined ? asked : asked.set("Authorization", token))).status;
  };

  interface Traces {
    readonly traces: readonly {
      readonly traceId: string;
      readonly spans: readonly { readonly name: string; readonly traceId: string }[];
    }[];
  }

  it("show the kept spans by trace at /debug/traces, the newest trace first, without a guard in local", async () => {
    await using test = await startService({ toml: toml('exporter = "memory"'), routes });
    const { telemetry } = test.service;
    telemetry?.span("job a", "consumer", {}, () => {
      telemetry.span("rag.search", "internal", {}, () => undefined);
    });
    telemetry?.span("job b", "consumer", {}, () => undefined);
    const { status, body } = await request(test.url).get("/debug/traces");
    expect(status).to.equal(200);
    const { traces } = body as Traces;
    expect(traces.map(({ spans }) => spans.map(({ name }) => name))).to.deep.equal([
      ["job b"],
      ["rag.search", "job a"],
    ]);
    expect(traces.every(({ traceId, spans }) => spans.every((each) => each.traceId === traceId))).to.equal(
      true,
    );
    for (let span = 0; span < 1100; span++) telemetry?.span("job c", "consumer", {}, () => undefined);
    const later = (await request(test.url).get("/debug/traces")).body as Traces;
    expect(later.traces.flatMap(({ spans }) => spans)).to.have.lengthOf(1000);
  });

  it("show /debug/traces outside local only to admins, and not at all in prod, with a warning", async () => {
    await using staging = await startService(guarded("staging"));
    expect([
      await statusOf(staging),
      await statusOf(staging, bearer("clerk")),
      await statusOf(staging, bearer("admin")),
    ]).to.deep.equal([401, 403, 200]);
    await using prod = await startService(guarded("prod"));
    expect(await statusOf(prod, bearer("admin"))).to.equal(404);
    const warnings = ({ lines }: TestService) =>
      lines.filter(({ level }) => level === "warn").map(({ message }) => message);
    expect(warnings(staging)).to.deep.equal([]);
    expect(warnings(prod)).to.deep.equal([
      'telemetry: exporter = "memory" keeps spans in this process only; set it to "otlp" in prod',
    ]);
  });

  it("return 401 at /debug/traces outside local without the plugin auth", async () => {
    await using test = await startService({
      toml: `env = "dev"\ndrain_delay = 0\n${toml('exporter = "memory"')}`,
      routes,
    });
    expect(await statusOf(test, bearer("admin"))).to.equal(401);
  });

  it("include console, which writes one INFO line per span and has no page", async () => {
    await using test = await startService({ toml: toml('exporter = "console"'), routes });
    await request(test.url).get("/orders/1");
    const line = await test.line(({ message }) => message === "span");
    expect(line).to.include({ level: "info", service: "test" });
    expect(line["span"]).to.include({ name: "GET /orders/:id", kind: "server" });
    expect(await statusOf(test)).to.equal(404);
    expect((await readinessOf(test)).check.detail).to.match(/^exporting to console: [12] span\(s\) exported/);
  });
});

describe("a process with the plugin `telemetry`", function () {
  this.timeout(60_000);

  it("TRACE-29 CFG-14 exits with 2 and the install command when a package is missing", async () => {
    const source = `
      import { registerHooks } from "node:module";
      registerHooks({
        resolve(specifier, context, next) {
          if (specifier !== "@opentelemetry/api") return next(specifier, context);
          const message = "Cannot find package '" + specifier + "' imported from " + context.parentURL;
          throw Object.assign(new Error(message), { code: "ERR_MODULE_NOT_FOUND" });
        },
      });
      const { startService } = await import("@svc/express");
      await startService({ config: "service.toml" });
    `;
    await using child = await runChild(source, {
      files: { "service.toml": `[service]\nname = "orders"\nport = 0\n${toml()}` },
      env: { SVC_TELEMETRY_ENDPOINT: "http://127.0.0.1:4318" },
    });
    expect(await child.ended).to.deep.equal({ code: 2, signal: null });
    expect(child.stderr()).to.contain(
      `\n  - plugin.telemetry: an endpoint is set and OpenTelemetry is not installed; run: ${INSTALL}\n`,
    );
    expect(child.lines().map(({ message }) => message)).not.to.include("listening");
  });

  it("TRACE-27 exits with 0 on SIGTERM while the collector hangs", async function () {
    if (process.platform === "win32") this.skip();
    await using receiver = await openOtlpReceiver({ behaviour: "hang" });
    const keys = `traces_endpoint = "${receiver.url}"\nshutdown_timeout = 0.1\nexport_timeout = 600`;
    const source = `
      import { startService } from "@svc/express";
      await startService({
        config: "service.toml",
        routes: (app) => void app.get("/orders/:id", (_req, res) => res.json({})),
      });
    `;
    await using child = await runChild(source, {
      files: { "service.toml": `[service]\nname = "orders"\nport = 0\n${toml(keys)}` },
    });
    await child.listening();
    expect((await fetch(`${child.url()}/orders/1`)).status).to.equal(200);
    child.kill("SIGTERM");
    expect(await child.ended).to.deep.equal({ code: 0, signal: null });
    expect(receiver.requests).to.have.lengthOf(1);
  });
});

describe("createService() with the plugin `telemetry`", () => {
  it("does not change the environment variables of the process", async () => {
    const before = { ...process.env };
    process.env["OTEL_EXPORTER_OTLP_HEADERS"] = "x-foreign=1";
    try {
      const service = await createService({
        config: { toml: `[service]\nname = "test"\nport = 0\n${toml('endpoint = "http://127.0.0.1:1"')}` },
        env: {},
        signals: false,
        logDestination: { write: () => undefined },
      });
      expect({ ...process.env }).to.deep.equal({ ...before, OTEL_EXPORTER_OTLP_HEADERS: "x-foreign=1" });
      await service.stop();
    } finally {
      delete process.env["OTEL_EXPORTER_OTLP_HEADERS"];
    }
  });
});

describe("a service with tracing and a database of its own", () => {
  it("starts and stops with a database that is not a pg pool", async () => {
    const db = {
      query: () => Promise.resolve({ rows: [], rowCount: 0 }),
      connect: () => Promise.reject(new Error("unused")),
    };
    const { service } = await makeService({
      db: db as never,
      toml: toml('exporter = "memory"', '"telemetry", "queue"'),
    });
    expect(service.telemetry?.exporting).to.equal(true);
    await service.stop();
  });
});
