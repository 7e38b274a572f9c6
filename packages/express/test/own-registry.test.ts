import { expect } from "chai";
import { collectDefaultMetrics, Counter, Registry } from "prom-client";
import request from "supertest";
import { refusalOf } from "./support/refusal-of.ts";
import { makeService, startService } from "./support/test-service.ts";

const silent = { logDestination: { write: () => undefined } };

describe("createService({ metrics: { registry } })", function () {
  this.timeout(30_000);

  it("MET-3 adds the metrics of the service to the registry, and serves those of the application with them", async () => {
    const registry = new Registry();
    new Counter({ name: "orders_total", help: "Orders.", registers: [registry] }).inc(3);
    await using test = await startService({
      metrics: { registry },
      routes: (app) => void app.get("/orders/:id", (_req, res) => res.json({})),
    });
    expect(test.service.metrics?.registry).to.equal(registry);
    await request(test.url).get("/orders/7");
    const { text } = await request(test.url).get("/metrics");
    expect(text)
      .to.contain("orders_total 3")
      .and.to.contain('endpoint="/orders/:id"')
      .and.to.contain("process_resident_memory_bytes");
    expect(await registry.metrics()).to.contain('endpoint="/orders/:id"');
  });

  it("rejects a registry with the default metrics, and names three of them and the setting default_metrics", async () => {
    const registry = new Registry();
    collectDefaultMetrics({ register: registry });
    const message = await refusalOf({ ...silent, metrics: { registry } });
    expect(message).to.match(
      /metrics\.registry: already has process_\w+, process_\w+, process_\w+ and \d+ more; set plugin\.metrics\.default_metrics = false, because/,
    );
    expect(message).to.not.contain("eventLoopDelay").and.to.not.contain("metrics()");
    const toml = "[plugin.metrics]\ndefault_metrics = false";
    await using _ = await startService({ metrics: { registry }, toml });
  });

  it("removes the service's metrics from the registry after a failed start, and keeps the application's", async () => {
    const registry = new Registry();
    new Counter({ name: "orders_total", help: "Orders.", registers: [registry] });
    const routes = (): never => expect.fail("no routes");
    for (const options of [{ routes }, { jobs: { a: () => undefined } }]) {
      const made = makeService({ metrics: { registry }, ...options });
      await made.then(
        () => expect.fail("nothing was refused"),
        () => undefined,
      );
      expect(registry.getMetricsAsArray().map(({ name }) => name)).to.deep.equal(["orders_total"]);
    }
    await using test = await startService({ metrics: { registry } });
    await test.service.stop();
    expect(await registry.metrics()).to.contain("http_requests_total");
  });

  it("rejects a registry with a metric of the same name, and a value that is not a registry", async () => {
    const registry = new Registry();
    const labelNames = ["shard"];
    new Counter({ name: "http_requests_total", help: "Requests.", labelNames, registers: [registry] });
    expect(await refusalOf({ ...silent, metrics: { registry } })).to.contain(
      "metrics.registry: already has http_requests_total; give each service its own registry",
    );
    expect(await refusalOf({ ...silent, metrics: { registry: {} as Registry } })).to.contain(
      "metrics.registry: must be a prom-client Registry (an object with getSingleMetric(),",
    );
    expect(await refusalOf({ ...silent, metrics: { registry } }, "[plugins]\nenabled = []")).to.contain(
      "metrics: has no effect without the plugin metrics; enable the plugin, or remove metrics",
    );
  });
});
