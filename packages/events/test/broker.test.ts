import { type BrokerBusOptions, createBrokerBus, refused } from "@svc/events/broker";
import { eventBusCases } from "@svc/events/testing";
import { collectingLogger, rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { messages } from "./support/messages.ts";
import { queueService } from "./support/queue-bus.ts";

describe("a bus created from an adapter", () => {
  const service = queueService(300);
  const cases = eventBusCases({
    open: async () =>
      Promise.resolve({
        bus: service.bus(),
        another: async () => Promise.resolve(service.bus()),
        breakConnection: (bus) => service.kill(bus),
        restartBroker: async () => Promise.resolve(),
        close: async () => Promise.resolve(),
      }),
  });
  for (const { name, run } of cases) it(`${name} (in-memory queues)`, run);

  function busThat(
    fails: () => never,
    options: Partial<BrokerBusOptions> = {},
  ): ReturnType<typeof createBrokerBus> {
    const subscription = {
      open: async () => Promise.resolve(),
      readers: [{ fetch: async () => Promise.resolve(fails()) }],
      acknowledge: () => undefined,
      stop: () => undefined,
      close: () => undefined,
    };
    const broker = {
      name: "broken",
      title: "Broken",
      publish: async () => Promise.resolve(fails()),
      ping: async () => Promise.resolve(fails()),
      subscribe: () => subscription,
      close: () => undefined,
    };
    return createBrokerBus({ broker, ...options });
  }

  it("EVT-7 hides the text of a client error if the adapter has no explain()", async () => {
    const bus = busThat(() => {
      throw new Error("no route to redis://user:pass-word@host");
    });
    const error = await rejection(bus.publish(messages("t", 1)));
    expect(error).to.include({ code: "ERR_SVC_EVENT_BUS_UNAVAILABLE", permanent: false });
    expect(error.message).to.equal("Broken is not available: the call failed");
    const result = await bus.readiness().check(AbortSignal.timeout(5000));
    expect(result).to.deep.include({ healthy: false, detail: "Broken is not available: the call failed" });
  });

  it("EVT-7 passes an EventBusError of publish() to the caller, and logs an EventBusError of a reader", async () => {
    const logger = collectingLogger();
    const bus = busThat(
      () => {
        throw refused("Broken", "the quota is used up");
      },
      { logger },
    );
    expect(await rejection(bus.publish(messages("t", 1)))).to.include({ code: "ERR_SVC_EVENT_BUS_REFUSED" });
    await bus.consume({ group: "g", topics: ["t"], handler: async () => Promise.resolve() });
    await until("the failure is logged", () => logger.at("warn").length > 0);
    expect(logger.texts[0]).to.include(
      '"broker":"broken","why":"Broken rejected the call: the quota is used up"',
    );
    await bus.close();
  });

  it("EVT-7 rejects invalid options", () => {
    const wrong: [object, RegExp][] = [
      [{}, /broker: is required/],
      [{ broker: {} }, /broker: must be a broker adapter/],
      [{ broker: {}, maxBodyBites: 1 }, /maxBodyBites: is unknown; did you mean maxBodyBytes/],
    ];
    for (const [options, text] of wrong) {
      expect(() => createBrokerBus(options as BrokerBusOptions)).to.throw(text);
    }
    const fails = (): never => {
      throw new Error("unused");
    };
    expect(() => busThat(fails, { retryBaseMs: 100, retryMaxMs: 50 })).to.throw(
      /retryMaxMs: must not be less/,
    );
  });
});
