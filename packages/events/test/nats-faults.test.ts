import { startNats } from "@svc/dev-services";
import { connect } from "@nats-io/transport-node";
import { createNatsJetStreamBus } from "@svc/events/nats-jetstream";
import { collectingLogger, rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { isTaken, messages, topicName } from "./support/messages.ts";
import { natsBench, nextStream, nothing } from "./support/nats-bench.ts";

describe("the bus on NATS JetStream", function () {
  this.timeout(60_000);
  const bench = natsBench();
  const { busWith, collect } = bench;

  describe("during faults", () => {
    it("EVT-7 rejects publish() at the deadline while the server hangs, is unhealthy, and recovers when the server responds", async () => {
      const topic = topicName("hung");
      const bus = busWith({ timeoutMs: 250 });
      const got = await until("it consumes", () => collect(bus, "g", topic).catch(() => undefined));
      const list = messages(topic, 2);
      await until("it takes the first one", () => isTaken(bus, list.slice(0, 1)));
      bench.server.pause();
      try {
        const error = await rejection(bus.publish(list.slice(1)));
        expect(error.code).to.equal("ERR_SVC_EVENT_BUS_UNAVAILABLE");
        expect(error.message).to.match(/NATS is not available: no answer/);
        const result = await bus.readiness().check(AbortSignal.timeout(5000));
        expect(result.healthy).to.equal(false);
      } finally {
        bench.server.resume();
      }
      await until("it takes messages again", () => isTaken(bus, list));
      await until("both have come", () => new Set(got).size === 2);
      expect(got, "one delivery each, although published twice").to.have.length(2);
    });

    it("EVT-7 delivers messages published before a server restart", async () => {
      const topic = topicName("restart");
      const list = messages(topic, 3);
      const bus = busWith();
      await bus.publish(list);
      await bench.server.restart();
      const got: string[] = [];
      await until("it can consume", () =>
        bus
          .consume({ group: "g", topics: [topic], handler: ({ id }) => Promise.resolve(void got.push(id)) })
          .then(
            () => true,
            () => false,
          ),
      );
      await until("all have come", () => got.length === 3);
    });

    for (const startFrom of ["oldest", "newest"] as const) {
      it(`EVT-7 delivers messages from a re-created stream whose sequence numbers repeat, with startFrom "${startFrom}"`, async () => {
        const topic = topicName("lost");
        const stream = nextStream();
        const bus = busWith({ stream, prefix: `${stream}.`, startFrom });
        const got = await collect(bus, "g", topic);
        await bus.publish(messages(topic, 3));
        await until("those of the first stream have come", () => got.length === 3);

        const { config } = await bench.manager.streams.info(stream);
        const list = messages(topic, 3);
        await bench.manager.streams.delete(stream);
        await bench.manager.streams.add(config);
        await bus.publish(list);
        await until("those of the second stream have come", () => got.length >= 6);
        expect(new Set(got.slice(3))).to.deep.equal(new Set(list.map(({ id }) => id)));
      });
    }

    it("EVT-7 rejects calls immediately while no server listens, and shows no password", async () => {
      const logger = collectingLogger();
      const bus = busWith({ servers: "nats://user:pass-word@127.0.0.1:1", logger });
      const errors = [
        await rejection(bus.publish(messages("t", 1))),
        await rejection(bus.consume({ group: "g", topics: ["t"], handler: nothing })),
      ];
      for (const error of errors) {
        expect(error.code).to.equal("ERR_SVC_EVENT_BUS_UNAVAILABLE");
        expect(error.message).to.equal("NATS is not available: ECONNREFUSED");
      }
      const result = await bus.readiness().check(AbortSignal.timeout(5000));
      expect(result).to.deep.include({ healthy: false, detail: "NATS is not available: ECONNREFUSED" });
      expect(JSON.stringify([result, logger.texts, errors])).not.to.match(/pass-word|127\.0\.0\.1/);
    });

    it("EVT-7 rejects publish() with a wrong password or without JetStream on the server", async () => {
      const { port } = bench.server;
      const wrong = await rejection(
        busWith({ servers: `nats://somebody:wrong@127.0.0.1:${port}` }).publish(messages("t", 1)),
      );
      expect(wrong.message).to.equal("NATS rejected the call: the user name or the password is wrong");
      await using plain = await startNats({ jetStream: false });
      const none = await rejection(busWith({ servers: plain.url }).publish(messages("t", 1)));
      expect(none.code).to.equal("ERR_SVC_EVENT_BUS_REFUSED");
      expect(none.message).to.match(/JetStream is not enabled/);
    });

    it("EVT-7 uses the caller's connection, leaves it open, and rejects publish() after the caller closes it", async () => {
      const bus = busWith({ connection: bench.connection });
      const topic = topicName("given");
      const list = messages(topic, 2);
      await bus.publish(list);
      const got = await collect(bus, "g", topic);
      await until("both have come", () => got.length === 2);
      await bus.close();
      expect(bench.connection.isClosed()).to.equal(false);

      const own = await connect({
        servers: `127.0.0.1:${bench.server.port}`,
        user: "somebody",
        pass: "pass-word",
      });
      const second = busWith({ connection: own });
      await second.publish(messages(topic, 1));
      await own.close();
      const error = await rejection(second.publish(messages(topic, 1)));
      expect(error.message).to.match(/not available/);
    });
  });

  it("EVT-7 throws for invalid options, and names them without their secrets", async () => {
    const wrong: [object, RegExp][] = [
      [{}, /servers: is required unless connection/],
      [{ servers: "http://user:pass-word@host" }, /servers: must be a URL such as/],
      [{ servers: ["nats://us%er:pass-word@host"] }, /servers: must be/],
      [{ servers: [] }, /servers: is empty/],
      [
        { servers: "nats://host", connection: bench.connection },
        /connection: cannot be combined with servers/,
      ],
      [{ connection: bench.connection, connect: {} }, /connect: applies to servers/],
      [{ servers: "nats://host", connect: { reconnect: false } }, /connect: must not have reconnect/],
      [{ servers: "nats://host", stream: "a.b" }, /stream: must be 1 to 64/],
      [{ servers: "nats://host", prefix: "*." }, /prefix: must be empty/],
      [{ servers: "nats://host", ackWait: 1 }, /ackWait: is unknown; did you mean ackWaitMs\?/],
      [{ servers: "nats://host", retryBaseMs: 100, retryMaxMs: 50 }, /retryMaxMs: must not be less/],
      [{ servers: "nats://host", maxAgeDays: 0.001 }, /dedupSeconds: must not exceed/],
    ];
    for (const [options, text] of wrong) {
      const error = await rejection(() => createNatsJetStreamBus(options));
      expect(error.code).to.equal("ERR_SVC_CONFIGURATION");
      expect(error.message)
        .to.match(text)
        .and.not.to.match(/pass-word/);
    }
  });
});
