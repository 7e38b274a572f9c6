import { testDatabase } from "@svc/dev-services";
import { createBusConsumer, type EventBus } from "@svc/events";
import { collectingLogger, rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { openBench } from "./support/bench.ts";
import { obedientBus } from "./support/obedient-bus.ts";

const ORDER = {
  id: "e1",
  type: "order.paid",
  source: "shop",
  occurred_at: "2026-03-01T10:00:00Z",
  data: {},
};
const MESSAGE = { topic: "order.paid", id: "e1", key: null, body: JSON.stringify(ORDER) };
const subscribers = { "order.paid": { one: () => undefined } };

describe("createBusConsumer()", function () {
  this.timeout(60_000);
  const database = testDatabase({ name: "events-consumer" });

  it("EVT-2 EVT-10 queues jobs for received events with local subscribers until it is stopped", async () => {
    await using bench = await openBench(database.url);
    const bus = obedientBus();
    const asked: Parameters<EventBus["consume"]>[0][] = [];
    const consume = bus.consume.bind(bus);
    bus.consume = (options) => {
      asked.push(options);
      return consume(options);
    };
    const events = bench.events({ subscribers, topicPrefix: "eu." });
    const consumer = createBusConsumer({ bus, events, group: "books" });
    expect(consumer.subscribed).to.equal(false);
    consumer.start();
    consumer.start();
    await until("it is subscribed", () => consumer.subscribed);
    expect(asked).to.have.lengthOf(1);
    expect(asked[0]).to.deep.include({ group: "books", topics: ["eu.order.paid"], concurrency: 1 });
    await bus.deliver(MESSAGE);
    expect(await bench.jobs()).to.have.lengthOf(1);
    await consumer.stop();
    await consumer.stop();
    expect(consumer.subscribed).to.equal(false);
    await bus.deliver({ ...MESSAGE, body: JSON.stringify({ ...ORDER, id: "e2" }) });
    expect(await bench.jobs()).to.have.lengthOf(1);
  });

  it("rejects an event whose jobs could not be queued, so that the bus delivers it again", async () => {
    await using bench = await openBench(database.url);
    const bus = obedientBus();
    await using consumer = createBusConsumer({ bus, events: bench.events({ subscribers }), group: "books" });
    consumer.start();
    await until("it is subscribed", () => consumer.subscribed);
    await bench.pool.query(`drop table ${bench.table.name}`);
    expect(await rejection(bus.deliver(MESSAGE))).to.include({ code: "42P01" });
    await bench.table.ensureSchema();
    await bus.deliver(MESSAGE);
    expect(await bench.jobs()).to.have.lengthOf(1);
  });

  it("drops an event with an integer that JavaScript would round, and logs the member's name (EVT-11)", async () => {
    await using bench = await openBench(database.url);
    const bus = obedientBus();
    const logger = collectingLogger();
    const events = bench.events({ subscribers, logger });
    await using consumer = createBusConsumer({ bus, events, group: "books" });
    consumer.start();
    await until("it is subscribed", () => consumer.subscribed);
    const body = (data: string, more = ""): string =>
      MESSAGE.body.replace('"data":{}', `"data":${data}${more}`);
    await bus.deliver({ ...MESSAGE, body: body('{"lines":[{"id":12345678901234567890}]}') });
    expect(await bench.jobs()).to.have.lengthOf(0);
    const [line] = logger.lines;
    expect(line?.fields["err"])
      .to.be.an("error")
      .with.property("message")
      .that.equals(
        "not a valid event: data.lines[0].id is an integer outside the safe range (-(2^53-1)..2^53-1); send it as a string",
      );
    // The consumer drops an unknown member of the envelope without checking its numbers.
    const large = '{"n":[9007199254740991,1e300,1700000000123456800],"id":"12345678901234567890"}';
    await bus.deliver({ ...MESSAGE, body: body(large, ',"offset":12345678901234567890') });
    const jobs = await bench.jobs();
    expect(jobs.map(({ payload }) => payload.event["data"])).to.deep.equal([JSON.parse(large)]);
  });

  it("retries while the bus is unavailable, and can be stopped during that time", async () => {
    await using bench = await openBench(database.url);
    const bus = obedientBus();
    const consume = bus.consume.bind(bus);
    let tries = 0;
    let away = true;
    bus.consume = async (options) => {
      tries += 1;
      if (away) throw new Error("away");
      return consume(options);
    };
    const logger = collectingLogger();
    const events = bench.events({ subscribers });
    const options = { bus, events, group: "books", retryMs: 1, logger };
    const stopped = createBusConsumer({ ...options, retryMs: 60_000 });
    stopped.start();
    await until("it has tried", () => tries === 1);
    await stopped.stop();
    expect(() => stopped.start()).to.throw("a stopped bus consumer cannot start again: create a new one");
    await using consumer = createBusConsumer(options);
    consumer.start();
    await until("it has tried again", () => tries >= 4);
    expect(logger.at("warn"), "one line in ten seconds, of each").to.have.lengthOf(2);
    away = false;
    await until("it is subscribed", () => consumer.subscribed);
  });

  it("sets `subscribed` to false after its subscription ends with an error", async () => {
    const bus = obedientBus();
    const stopped = Promise.withResolvers<void>();
    bus.consume = () =>
      Promise.resolve({
        stop: () => Promise.resolve(),
        stopped: stopped.promise,
        [Symbol.asyncDispose]: () => Promise.resolve(),
      });
    const events = { receive: () => Promise.resolve(), topics: ["x"] };
    await using consumer = createBusConsumer({ bus, events, group: "books" });
    consumer.start();
    await until("it is subscribed", () => consumer.subscribed);
    stopped.reject(new Error("the bus has gone"));
    await until("it has ended", () => !consumer.subscribed);
  });

  it("throws for an invalid group, and when there is no topic to consume", async () => {
    await using bench = await openBench(database.url);
    const bus = obedientBus();
    const events = bench.events();
    expect(() => createBusConsumer({ bus, events, group: "books" })).to.throw(
      "no event type has a subscriber",
    );
    expect(() => createBusConsumer({ bus, events, group: "a b", topics: ["x"] })).to.throw("group: must be");
    expect(createBusConsumer({ bus, events, group: "books", topics: ["x"] }).subscribed).to.equal(false);
  });

  it("throws for a topic that no bus accepts", async () => {
    await using bench = await openBench(database.url);
    const options = { bus: obedientBus(), events: bench.events(), group: "books" };
    for (const wrong of ["orders.>", "orders.*", "a..b", "a b", "", "x".repeat(301)]) {
      expect(() => createBusConsumer({ ...options, topics: ["orders", wrong] }), wrong)
        .to.throw("topics: must be")
        .with.property("code", "ERR_SVC_CONFIGURATION");
    }
  });
});
