import { setTimeout as delay } from "node:timers/promises";
import { currentContext } from "@svc/context";
import { testDatabase, testNats, testRedis } from "@svc/dev-services";
import type { EventEnvelope } from "@svc/events";
import type { TestServiceOptions } from "./support/test-service.ts";
import { expect } from "chai";
import request from "supertest";
import { runChild } from "./support/child.ts";
import { makeService, startService, type TestService } from "./support/test-service.ts";

type Recorded = EventEnvelope<"expense.recorded", { readonly id: string }>;

const plugins = (name: string, more = "", enabled = '"database", "queue", "events"'): string => `
[plugins]
enabled = [${enabled}]
[plugin.database]
url = "\${DATABASE_URL}"
[plugin.queue]
name = "${name}_jobs"
poll = 0.05
[plugin.events]
relay_every = 0.05
outbox_table = "${name}_outbox"
inbox_table = "${name}_inbox"
${more}
`;

/** Returns the first `/ready` response in which the check has this state. The test's own timeout is the limit. */
async function readyOnce(test: TestService, check: string, healthy: boolean): Promise<request.Response> {
  for (;;) {
    const answer = await request(test.url).get("/ready");
    const { checks } = answer.body as { checks: Record<string, { healthy: boolean; critical: boolean }> };
    expect(checks[check]?.critical).to.equal(false);
    if (checks[check]?.healthy === healthy) return answer;
    await delay(50);
  }
}

describe("the plugin `events`", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "express-events" });
  const env = (more = {}): Record<string, string> => ({ DATABASE_URL: database.url, ...more });

  /** Checks with two services that a subscriber of the second gets an event that the first publishes in a transaction. */
  async function carries(bus: string, url: string): Promise<void> {
    const { promise: got, resolve } = Promise.withResolvers<object>();
    const named = (name: string): TestServiceOptions => ({
      config: {
        toml: `[service]\nname = "${name}"\nport = 0\n${plugins(`${name}_${bus}`, `bus = "${bus}"\nurl = "\${BUS_URL}"\ntopic_prefix = "${bus}.test."`)}`,
      },
      env: env({ BUS_URL: url }),
    });
    await using mailer = await startService({
      ...named("mailer"),
      subscribers: {
        "expense.recorded": {
          mail(event: Recorded, job, { config }) {
            resolve({ id: event.data.id, by: event.source, as: config.service.name, tenant: job.tenantId });
          },
        },
      },
    });
    // A worker of the same service sends the events that a server stores.
    await using expenses = await startService({ ...named("expenses"), role: "server" });
    await using relay = await startService({ ...named("expenses"), role: "worker" });
    const { db, events } = expenses.service;
    const record = async (id: string, error?: Error): Promise<void> =>
      db?.transaction(async (tx) => {
        await events?.publish({ type: "expense.recorded", data: { id }, tenantId: "acme" }, { tx });
        if (error !== undefined) throw error;
      });
    await record("e-0", new Error("rolled back")).catch(() => undefined);
    await record("e-1");
    expect(await got).to.deep.equal({ id: "e-1", by: "expenses", as: "mailer", tenant: "acme" });
    await readyOnce(mailer, "event-bus", true);
    await readyOnce(expenses, "outbox", true);
    await readyOnce(relay, "event-bus", true);
    const { checks } = (await request(expenses.url).get("/ready")).body as { checks: object };
    expect(checks).to.have.keys("database", "queue", "outbox");
    const rows = await db?.query(`select payload #>> '{data,id}' as id from expenses_${bus}_outbox`);
    expect(rows?.rows).to.deep.equal([{ id: "e-1" }]);
    const info = await request(mailer.url).get("/info");
    expect((info.body as { plugins: object[] }).plugins).to.deep.include({
      name: "events",
      bus,
      outbox: true,
      subscribers: ["expense.recorded"],
      consumer_group: "mailer",
    });
    expect(info.text).not.to.contain(new URL(url).host);
  }

  it("EVT-2 OUT-2 runs the service's own subscribers as jobs, and handles each event once with an inbox", async () => {
    const { promise: done, resolve } = Promise.withResolvers<object>();
    let runs = 0;
    await using test = await startService({
      toml: plugins("own"),
      env: env(),
      subscribers: {
        "expense.recorded": {
          async note(event: Recorded, job, { db, inbox }) {
            const once = (): Promise<unknown> =>
              db?.transaction((tx) => inbox?.once(tx, "note", event.id, () => ++runs)) ?? expect.fail();
            expect(await once()).to.deep.equal({ done: true, value: 1 });
            expect(await once()).to.deep.equal({ done: false });
            resolve({ task: job.task, requestId: currentContext()?.requestId, data: event.data });
          },
        },
      },
      routes: (app, { events }) =>
        void app.post("/expenses", async (_req, res) => {
          const event = await events?.publish({ type: "expense.recorded", data: { id: "e-1" } });
          res.json(event?.source);
        }),
    });
    expect((await request(test.url).post("/expenses").set("X-Request-ID", "r-1")).body).to.equal("test");
    expect(await done).to.deep.equal({
      task: "expense.recorded->note",
      requestId: "r-1",
      data: { id: "e-1" },
    });
    const { checks } = (await request(test.url).get("/ready")).body as { checks: object };
    expect(checks).to.have.keys("database", "queue", "worker");
  });

  describe("on Redis", () => {
    const redis = testRedis();

    it("EVT-2 delivers events to another service's subscribers when a transaction publishes them", () =>
      carries("redis", redis.url));
  });

  describe("on NATS", () => {
    const nats = testNats();

    it("EVT-2 delivers events to another service's subscribers when a transaction publishes them", () =>
      carries("nats", nats.url));
  });

  it("RDY-19 starts while its bus is down, reports degraded, keeps published events, and shows no password", async () => {
    await using test = await startService({
      toml: plugins("lone", 'bus = "redis"\nurl = "${BUS_URL}"'),
      env: env({ BUS_URL: "redis://user:hunter2@127.0.0.1:1" }),
      subscribers: { "expense.recorded": { note: () => undefined } },
    });
    await test.service.events?.publish({ type: "expense.recorded", data: {} });
    const ready = await readyOnce(test, "event-bus", false);
    expect([ready.status, (ready.body as { status: string }).status]).to.deep.equal([200, "degraded"]);
    const { rows } = (await test.service.db?.query("select status from lone_outbox")) ?? expect.fail();
    expect(rows).to.deep.equal([{ status: "pending" }]);
    const info = await request(test.url).get("/info");
    await test.line(({ message }) => /cannot subscribe/.test(String(message)));
    expect(ready.text + info.text + JSON.stringify(test.lines)).not.to.contain("hunter2");
    expect(await test.service.stop()).to.equal(0);
  });

  it("refuses to start when a bus's packages are not installed, and prints the install command", async () => {
    await using child = await runChild(
      `import { registerHooks } from "node:module";
      registerHooks({
        resolve(specifier, context, next) {
          if (!/^(?:ioredis|@nats-io\\/.*)$/.test(specifier)) return next(specifier, context);
          throw Object.assign(new Error("Cannot find package"), { code: "ERR_MODULE_NOT_FOUND" });
        },
      });
      const { createService } = await import("@svc/express");
      for (const bus of ["redis", "nats"]) {
        const toml = process.env.TOML + 'bus = "' + bus + '"\\nurl = "' + bus + '://127.0.0.1:1"\\n';
        await createService({ config: { toml } }).catch((error) => console.log(error.name, error.message));
      }`,
      { env: env({ TOML: `[service]\nname = "test"\n${plugins("bare")}` }) },
    );
    expect((await child.ended).code).to.equal(0);
    expect(child.stdout().match(/npm install .*/g)).to.deep.equal([
      "npm install @svc/redis",
      "npm install @nats-io/transport-node @nats-io/jetstream",
    ]);
    expect(child.stdout())
      .to.contain("ConfigurationError")
      .and.to.contain("plugin.events.bus: redis needs packages");
  });
});

describe("a service with misconfigured events", () => {
  const subscribers = { "expense.recorded": { note: () => undefined } };
  const on = (more = "", enabled?: string): { toml: string } => ({ toml: plugins("x", more, enabled) });

  async function refusal(options: TestServiceOptions): Promise<string> {
    try {
      const { service } = await makeService({
        env: { DATABASE_URL: "postgres://127.0.0.1:1/x" },
        ...options,
      });
      await service.stop();
    } catch (error) {
      return String(error);
    }
    return expect.fail("it started");
  }

  it("logs a warning for each bus setting without effect", async () => {
    const { service, lines } = await makeService({
      ...on('url = "redis://user:hunter2@127.0.0.1:1"\nkey_prefix = "a"\nstream = "b"'),
      env: { DATABASE_URL: "postgres://127.0.0.1:1/x" },
    });
    await service.stop();
    expect(lines.map(({ message }) => message)).to.include.members(
      ["url", "key_prefix", "stream"].map((key) => `[plugin.events] ${key} is not used: bus is "none"`),
    );
    expect(JSON.stringify(lines)).not.to.contain("hunter2");
  });

  it("refuses to start with an error that names the setting and contains no secret", async () => {
    expect(await refusal({ subscribers })).to.contain("subscribers: has no effect without the plugin events");
    expect(await refusal({ ...on("", '"database", "events"'), subscribers })).to.contain(
      "subscribers: run as jobs: enable the plugin queue",
    );
    expect(await refusal({ ...on(), subscribers: { "expense.recorded": { note: 7 } } as never })).to.contain(
      "subscribers.expense.recorded.note: must be a function",
    );
    expect(await refusal({ ...on(), subscribers: { "a b": { note: () => undefined } } })).to.contain("a b");
    expect(
      await refusal({ ...on(), subscribers, jobs: { "expense.recorded->note": () => undefined } }),
    ).to.contain("jobs.expense.recorded->note: is the task of a subscriber");
    expect(await refusal(on('bus = "redis"'))).to.contain(
      'plugin.events.url: is required with bus = "redis", for example "${REDIS_URL}"',
    );
    expect(await refusal(on('consumer_group = "a b"'))).to.contain("plugin.events.consumer_group: must be");
    expect(await refusal(on('topic_prefix = "a..b"'))).to.contain("plugin.events.topic_prefix: must be");
    const called = (name: string): TestServiceOptions => ({
      config: {
        toml: `[service]\nname = "${name}"\n${plugins("x", 'bus = "redis"\nurl = "redis://127.0.0.1:1"')}`,
      },
      subscribers,
    });
    expect(await refusal(called("my service"))).to.contain("plugin.events.consumer_group: is required");
    expect(await refusal(called("größe"))).to.contain("service.name: must be ASCII");
    expect(await refusal(on('bus = "kafka"'))).to.contain("plugin.events.bus: must be");
    for (const bus of ["redis", "nats"]) {
      const message = await refusal(on(`bus = "${bus}"\nurl = "http://user:hunter2@127.0.0.1"`));
      expect(message).to.contain("plugin.events.url: must be").and.not.to.contain("hunter2");
    }
    expect(await refusal(on("outbox = true", '"events"'))).to.contain(
      "plugin.events.outbox: requires a database",
    );
    expect(await refusal({ toml: plugins("a.b.c").replace('name = "a.b.c_jobs"', "") })).to.contain(
      "plugin.events.inbox_table: must be",
    );
  });
});
