import { testProgram } from "@svc/dev-services";
import { metrics, type MetricsMiddleware } from "@svc/metrics";
import { ConfigurationError } from "@svc/options";
import { expressMajors, listen, until } from "@svc/test-support";
import { expect } from "chai";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry, Summary } from "prom-client";
import request from "supertest";
import { promtoolFindings, samples } from "./support/scrape.ts";

const quiet = { defaultMetrics: false, eventLoopDelay: false } as const;
const TEXT = "text/plain; version=0.0.4";
const OPEN = "application/openmetrics-text; version=1.0.0; charset=utf-8";

function service(counted: MetricsMiddleware, name: keyof typeof expressMajors = "express 5") {
  const app = expressMajors[name]().use(counted);
  app.get("/items/:id", (_req, res) => void res.sendStatus(200));
  app.get("/metrics", counted.handler);
  return app;
}

for (const name of ["express 4", "express 5"] as const) {
  it(`SYS-7 MET-1 serves the Prometheus text format on ${name}`, async () => {
    const app = service(metrics(quiet), name);
    await request(app).get("/items/1");
    const answer = await request(app).get("/metrics");
    expect(answer.status).to.equal(200);
    expect(answer.headers["content-type"]).to.equal(TEXT);
    expect(answer.headers["cache-control"]).to.equal("no-store");
    expect(answer.headers).not.to.have.property("etag");
    expect(answer.text).to.contain(
      'http_requests_total{method="GET",endpoint="/items/:id",status="200"} 1\n',
    );
    expect(answer.text).not.to.contain("# EOF");
  });
}

describe("the /metrics handler", () => {
  it("SYS-7 responds on a bare server", async () => {
    const counted = metrics(quiet);
    await using server = await listen((req, res) =>
      counted(req, res, () => counted.handler(req, res, () => res.writeHead(405).end())),
    );
    const answer = await fetch(server.url);
    expect(answer.headers.get("content-type")).to.equal(TEXT);
    expect(await answer.text()).to.contain("service_info");
    expect((await fetch(server.url, { method: "POST" })).status).to.equal(405);
  });

  it("SYS-7 responds to HEAD with headers and no body", async () => {
    const head = await request(service(metrics(quiet))).head("/metrics");
    expect(head.status).to.equal(200);
    expect(Number(head.headers["content-length"])).to.be.greaterThan(100);
    expect(head.text).to.equal(undefined);
  });

  const accepts: Record<string, string> = {
    "*/*": TEXT,
    "text/plain": TEXT,
    "application/*": TEXT,
    "application/openmetrics-text": OPEN,
    "APPLICATION/OpenMetrics-Text; Version=1.0.0; charset=utf-8": OPEN,
    'application/openmetrics-text; version="1.0.0"': OPEN,
    "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.2": OPEN,
    "application/openmetrics-text;q=0.3,text/plain;q=0.5": TEXT,
    "application/openmetrics-text;q=0": TEXT,
    "application/openmetrics-text;q=x": TEXT,
    "application/openmetrics-text;version=0.0.1": TEXT,
    "application/openmetrics-text;version=0.0.1,application/openmetrics-text;version=1.0.0;q=0.9": OPEN,
  };
  for (const [accept, type] of Object.entries(accepts)) {
    it(`MET-2 responds to Accept: ${accept} with ${type.split(";")[0]}`, async () => {
      const answer = await request(service(metrics(quiet)))
        .get("/metrics")
        .set("Accept", accept);
      expect(answer.headers["content-type"]).to.equal(type);
    });
  }

  it("MET-2 writes OpenMetrics if requested, and leaves the text format of the registry unchanged", async () => {
    const counted = metrics({ ...quiet, service: 'a"b\\c\nd', version: "1", buckets: [0.5, 60] });
    const registers = [counted.registry];
    new Counter({ name: "orders_total", help: 'Orders "placed".', registers }).inc(3);
    new Counter({ name: "mails", help: "Mails.", registers }).inc(1);
    new Gauge({ name: "temperature_celsius", help: "Odd values.", labelNames: ["at"], registers }).set(
      { at: "in" },
      -Infinity,
    );
    new Gauge({ name: "nothing", help: "Nothing.", registers }).set(Number.NaN);
    new Histogram({ name: "size_bytes", help: "Sizes.", buckets: [1, 2.5], registers }).observe(2);
    new Summary({ name: "wait_seconds", help: "Waits.", percentiles: [0.5, 1], registers }).observe(4);
    const app = service(counted);
    await request(app).get("/items/1");
    const before = await counted.registry.getSingleMetricAsString("http_requests_total");
    const answer = await request(app)
      .get("/metrics")
      .set("Accept", "application/openmetrics-text")
      .buffer(true)
      .parse((res, done) => {
        let text = "";
        res.on("data", (chunk: Buffer) => (text += chunk.toString()));
        res.on("end", () => done(null, text));
      });
    const text = answer.body as string;
    expect(text.endsWith("\n# EOF\n")).to.equal(true);
    for (const line of [
      "# TYPE http_requests counter",
      'http_requests_total{method="GET",endpoint="/items/:id",status="200"} 1',
      "# TYPE http_request_duration_seconds histogram",
      'http_request_duration_seconds_bucket{le="0.5",method="GET",endpoint="/items/:id"} 1',
      'http_request_duration_seconds_bucket{le="60.0",method="GET",endpoint="/items/:id"} 1',
      'http_request_duration_seconds_bucket{le="+Inf",method="GET",endpoint="/items/:id"} 1',
      'http_request_duration_seconds_count{method="GET",endpoint="/items/:id"} 1',
      'service_info{service="a\\"b\\\\c\\nd",version="1"} 1',
      '# HELP orders Orders \\"placed\\".',
      "# TYPE orders counter",
      "orders_total 3",
      "# TYPE mails counter",
      "mails_total 1",
      'temperature_celsius{at="in"} -Inf',
      "nothing NaN",
      'size_bytes_bucket{le="1.0"} 0',
      'size_bytes_bucket{le="2.5"} 1',
      "size_bytes_sum 2",
      'wait_seconds{quantile="1.0"} 4',
      "wait_seconds_count 1",
    ]) {
      expect(text.split("\n"), line).to.include(line);
    }
    expect(text).not.to.contain("_total_total");
    const after = await counted.registry.getSingleMetricAsString("http_requests_total");
    expect(after.split("\n").slice(0, 3)).to.deep.equal(before.split("\n").slice(0, 3));
    expect(after).to.contain("# TYPE http_requests_total counter");
  });

  it("shows metrics that the application adds to the registry", async () => {
    const counted = metrics(quiet);
    new Counter({ name: "orders_total", help: "Orders.", registers: [counted.registry] }).inc();
    expect((await request(service(counted)).get("/metrics")).text).to.contain("\norders_total 1\n");
  });

  it("passes a metric's error to next and sends no response", async () => {
    const counted = metrics(quiet);
    new Gauge({
      name: "broken",
      help: "Broken.",
      registers: [counted.registry],
      collect() {
        throw new Error("boom");
      },
    });
    for (const Accept of ["*/*", "application/openmetrics-text"]) {
      let error: unknown;
      await using server = await listen((req, res) =>
        counted.handler(req, res, (err) => {
          error = err;
          res.writeHead(500).end();
        }),
      );
      expect((await fetch(server.url, { headers: { Accept } })).status).to.equal(500);
      expect(error).to.be.instanceOf(Error).with.property("message", "boom");
    }
  });
});

describe("the metrics of the process", () => {
  it("MET-7 have prom-client's names", async () => {
    await using counted = metrics();
    const theirs = new Registry();
    collectDefaultMetrics({ register: theirs });
    const names = (await counted.registry.getMetricsAsJSON()).map(({ name }) => name);
    const expected = theirs
      .getMetricsAsArray()
      .map(({ name }) => name)
      .filter((name) => !/^nodejs_active_.*_total$|^nodejs_active_(handles|requests)$/.test(name))
      .filter((name) => !["nodejs_eventloop_lag_seconds", "process_heap_bytes"].includes(name));
    expect(names).to.include.members(expected);
    const seen = await samples(counted);
    for (const name of [
      "process_cpu_seconds_total",
      "process_resident_memory_bytes",
      "nodejs_heap_size_used_bytes",
    ])
      expect(Number(seen[name]), name).to.be.greaterThan(0);
    const [major, minor, patch] = process.versions.node.split(".");
    const labels = `version="${process.version}",major="${major}",minor="${minor}",patch="${patch}"`;
    expect(seen[`nodejs_version_info{${labels}}`]).to.equal("1");
    const startedAt = Number(seen["process_start_time_seconds"]);
    expect(startedAt).to.be.within(Date.now() / 1000 - process.uptime() - 5, Date.now() / 1000);
    if (process.platform === "linux") {
      expect(Number(seen["process_open_fds"])).to.be.within(3, Number(seen["process_max_fds"]));
      expect(Number(seen["process_virtual_memory_bytes"])).to.be.greaterThan(1e6);
    }
  });

  it("MET-7 count garbage collections until stop()", async () => {
    await using counted = metrics({ eventLoopDelay: false });
    const collected = async (of: MetricsMiddleware): Promise<number> => {
      const seen = await samples(of, "nodejs_gc_duration_seconds_count");
      return Object.values(seen).reduce((sum, each) => sum + Number(each), 0);
    };
    let garbage: object[] = [];
    const litter = async (): Promise<void> => {
      garbage = Array.from({ length: 200_000 }, (_, index) => ({ index, of: garbage.length }));
      await new Promise((resolve) => setImmediate(resolve));
    };
    while ((await collected(counted)) === 0) await litter();
    counted.stop();
    // The observer still delivers collections that ran before stop().
    await litter();
    const stopped = await collected(counted);
    await using watch = metrics({ eventLoopDelay: false });
    while ((await collected(watch)) === 0) await litter();
    expect(await collected(counted)).to.equal(stopped);
  });

  it("are absent with defaultMetrics: false", async () => {
    const names = Object.keys(await samples(metrics(quiet)));
    expect(names.filter((name) => /^(process|nodejs)_/.test(name))).to.deep.equal([]);
  });
});

describe("the delay of the event loop", () => {
  it("MET-7 shows a stall in the next scrape, and is reset after it", async () => {
    await using counted = metrics({ defaultMetrics: false });
    let first: Readonly<Record<string, string>> = {};
    // Node's monitor measures from its second tick, which on a busy machine may come after the stall.
    await until("a scrape shows a stall", async () => {
      await new Promise((resolve) => setTimeout(resolve, 50));
      const end = performance.now() + 200;
      while (performance.now() < end);
      await new Promise((resolve) => setTimeout(resolve, 50));
      first = await samples(counted, "nodejs_eventloop_lag");
      return Number(first["nodejs_eventloop_lag_max_seconds"]) > 0.15;
    });
    expect(first).to.have.all.keys(
      ["min", "max", "mean", "stddev", "p50", "p90", "p99"].map(
        (each) => `nodejs_eventloop_lag_${each}_seconds`,
      ),
    );
    expect(Number(first["nodejs_eventloop_lag_max_seconds"])).to.be.below(20);
    // On a busy machine a later interval may contain an even longer stall than the test's own, so scrape until the maximum
    // is lower.
    await until("the stall is reset", async () => {
      const next = await samples(counted, "nodejs_eventloop_lag");
      return (
        Number(next["nodejs_eventloop_lag_max_seconds"]) < Number(first["nodejs_eventloop_lag_max_seconds"])
      );
    });
  });

  it("MET-7 does not include the monitor's interval, so that the smallest delay is far below that interval", async () => {
    await using counted = metrics({ defaultMetrics: false });
    // On a busy machine one sample may stay above the limit.
    await until("the least delay is small", async () => {
      await new Promise((resolve) => setTimeout(resolve, 300));
      const seen = await samples(counted, "nodejs_eventloop_lag_min");
      const least = Number(seen["nodejs_eventloop_lag_min_seconds"]);
      expect(least).to.be.at.least(0);
      return least <= 0.005;
    });
  });

  it("is no longer measured after one or two calls of stop(), while requests are still counted", async () => {
    const counted = metrics();
    counted.stop();
    counted.stop();
    await request(service(counted)).get("/items/1");
    expect(await samples(counted, "http_requests_total")).to.have.all.keys(
      'http_requests_total{method="GET",endpoint="/items/:id",status="200"}',
    );
    await samples(counted);
    const idle = await samples(counted, "nodejs_eventloop_lag_max");
    expect(idle).to.deep.equal({ nodejs_eventloop_lag_max_seconds: "0" });
  });
});

describe("promtool check metrics", () => {
  const promtool = testProgram("promtool");

  it("MET-1 MET-7 reports no findings", async () => {
    await using counted = metrics({ service: "orders", version: "1.2.3" });
    const app = service(counted);
    for (const path of ["/items/1", "/none", "/metrics"]) await request(app).get(path);
    const { text } = await request(app).get("/metrics");
    expect(promtoolFindings(promtool.path, text)).to.equal("");
    expect(promtoolFindings(promtool.path, `${text}# TYPE bad_total gauge\nbad_total 1\n`)).to.contain(
      "bad_total",
    );
  });
});

describe("metrics() with options", () => {
  const cases: Record<string, object> = {
    service: { service: "" },
    buckets: { buckets: [1, 1] },
    maxSeries: { maxSeries: 0 },
    registry: { registry: {} },
    defaultMetrics: { defaultMetrics: "no" },
    bucket: { bucket: [1] },
  };
  for (const [key, wrong] of Object.entries(cases)) {
    it(`rejects ${JSON.stringify(wrong)}`, () => {
      expect(() => metrics(wrong))
        .to.throw(ConfigurationError)
        .with.nested.property("faults[0].key", key);
    });
  }

  it("rejects buckets that are empty, negative, infinite or too many", () => {
    for (const buckets of [
      [],
      [0],
      [-1, 1],
      [1, Infinity],
      Array.from({ length: 51 }, (_, index) => index + 1),
    ]) {
      expect(() => metrics({ ...quiet, buckets })).to.throw(ConfigurationError, "buckets");
    }
  });

  it("rejects a registry that already has these metrics, and names the remedy", () => {
    const registry = new Registry();
    metrics({ ...quiet, registry });
    expect(() => metrics({ ...quiet, registry })).to.throw(
      ConfigurationError,
      /registry: already has http_requests_total, .*give each metrics\(\) its own registry/,
    );
  });

  it("names at most three metrics that a registry already has, and the options that omit default metrics", () => {
    const registry = new Registry();
    collectDefaultMetrics({ register: registry });
    expect(() => metrics({ registry })).to.throw(
      ConfigurationError,
      /registry: already has \w+, \w+, \w+ and \d+ more; pass defaultMetrics: false and eventLoopDelay: false, because collectDefaultMetrics\(\) was called/,
    );
    metrics({ ...quiet, registry });
  });

  it("rejects a registry with the OpenMetrics format", () => {
    const registry = new Registry();
    registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE as never);
    expect(() => metrics({ ...quiet, registry })).to.throw(ConfigurationError, /plain text format/);
  });

  it("uses the application's registry, and never the global registry", async () => {
    const registry = new Registry();
    const counted = metrics({ ...quiet, registry });
    expect(counted.registry).to.equal(registry);
    const { register } = await import("prom-client");
    expect(register.getMetricsAsArray()).to.deep.equal([]);
  });
});
