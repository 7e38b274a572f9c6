import { connect, type NatsConnection } from "@nats-io/transport-node";
import { jetstreamManager, type JetStreamManager } from "@nats-io/jetstream";
import { startNats } from "@svc/dev-services";
import type { BusMessage, EventBus } from "@svc/events";
import { createNatsJetStreamBus, EventBusError, type NatsJetStreamOptions } from "@svc/events/nats-jetstream";
import { collectingLogger, rejection, until } from "@svc/test-support";
import { expect } from "chai";
import { setTimeout as sleep } from "node:timers/promises";
import { covers } from "../src/nats/stream.ts";
import { idsOf, messages, topicName } from "./support/messages.ts";
import { brokerNats, LOGIN } from "./support/servers.ts";

describe("the bus on NATS JetStream", function () {
  this.timeout(60_000);
  const nats = brokerNats();
  const open: EventBus[] = [];
  let connection: NatsConnection;
  let manager: JetStreamManager;
  let streams = 0;

  before(async () => {
    const { port } = nats.server;
    connection = await connect({
      servers: `127.0.0.1:${port}`,
      user: LOGIN.user,
      pass: LOGIN.password,
      maxReconnectAttempts: -1,
      reconnectTimeWait: 50,
    });
    manager = await jetstreamManager(connection);
  });

  after(() => connection.close());

  afterEach(async () => {
    await Promise.all(open.splice(0).map((bus) => bus.close()));
  });

  const nextStream = (): string => `case-${++streams}`;

  function busWith(options: Partial<NatsJetStreamOptions> = {}): EventBus {
    const bus = createNatsJetStreamBus({
      servers: options.connection === undefined ? nats.server.url : undefined,
      stream: "shared",
      prefix: "shared.",
      ackWaitMs: 10_000,
      retryBaseMs: 10,
      timeoutMs: 2000,
      ...options,
    });
    open.push(bus);
    return bus;
  }

  async function collect(bus: EventBus, group: string, topic: string): Promise<string[]> {
    const ids: string[] = [];
    await bus.consume({
      group,
      topics: [topic],
      handler: async ({ id }) => Promise.resolve(void ids.push(id)),
    });
    return ids;
  }

  const nothing = (): Promise<void> => Promise.resolve();

  describe("the stream", () => {
    it("EVT-7 is made as it was asked for, with one durable pull consumer for each group and topic", async () => {
      const stream = nextStream();
      const bus = busWith({
        stream,
        prefix: `${stream}.`,
        maxAgeDays: 2,
        dedupSeconds: 60,
        storage: "memory",
      });
      const topics = ["order.paid", "order.sent"];
      await bus.consume({ group: "billing.eu", topics, handler: nothing });
      const { config } = await manager.streams.info(stream);
      expect(config).to.deep.include({
        subjects: [`${stream}.>`],
        retention: "limits",
        storage: "memory",
        max_age: 2 * 86_400 * 1e9,
        duplicate_window: 60 * 1e9,
        num_replicas: 1,
      });
      const consumers = await manager.consumers.list(stream).next();
      expect(consumers.map(({ name }) => name).toSorted()).to.deep.equal([
        "billing=eu==order=paid",
        "billing=eu==order=sent",
      ]);
      expect(consumers[0]?.config).to.deep.include({
        ack_policy: "explicit",
        ack_wait: 10 * 1e9,
        max_deliver: -1,
      });
      await bus.publish(messages("order.paid", 1, { key: "ä 1" }));
      const stored = await manager.streams.getMessage(stream, { seq: 1 });
      expect(stored?.subject).to.equal(`${stream}.order.paid`);
      expect(stored?.header.get("Event-Key")).to.equal("%C3%A4%201");
      expect(stored?.header.get("Nats-Msg-Id")).to.match(/^id-/);
    });

    it("EVT-7 gets subjects one by one where there is no prefix, also from several replicas at once", async () => {
      const stream = nextStream();
      const topics = Array.from({ length: 8 }, (_, at) => `${stream}.only.t${at}`);
      const buses = topics.map(() => busWith({ stream, prefix: "" }));
      await Promise.all(buses.map((bus, at) => bus.publish(messages(topics[at] ?? "", 1))));
      const { config, state } = await manager.streams.info(stream);
      expect(config.subjects.toSorted()).to.deep.equal(topics);
      expect(state.messages).to.equal(8);
    });

    it("EVT-7 is refused when it cannot do what is needed, and left alone when it is not the bus's to change", async () => {
      const [work, foreign, fixed] = [nextStream(), nextStream(), nextStream()];
      await manager.streams.add({ name: work, subjects: [`${work}.>`], retention: "workqueue" });
      await manager.streams.add({ name: foreign, subjects: [`${foreign}.>`] });
      await manager.streams.add({ name: fixed, subjects: [`${fixed}.a`] });
      const wrong: [Partial<NatsJetStreamOptions>, RegExp][] = [
        [{ stream: work, prefix: `${work}.` }, /the stream case-\d+ has the retention workqueue/],
        [{ stream: nextStream(), prefix: `${foreign}.` }, /subjects overlap with an existing stream/],
        [{ stream: nextStream(), manageStream: false }, /there is no stream case-\d+/],
        [
          { stream: fixed, prefix: `${fixed}.`, manageStream: false },
          /does not take case-\d+\.>; it takes case-\d+\.a/,
        ],
      ];
      for (const [options, text] of wrong) {
        for (const operation of [
          () => busWith(options).publish(messages("topic", 1)),
          () => busWith(options).consume({ group: "g", topics: ["topic"], handler: nothing }),
        ]) {
          const error = await rejection(operation);
          expect(error).to.be.instanceOf(EventBusError);
          expect(error.message).to.match(text);
          expect(error.code).to.equal("ERR_SVC_EVENT_BUS_REFUSED");
        }
      }
      expect((await manager.streams.info(fixed)).config.subjects).to.deep.equal([`${fixed}.a`]);
    });

    it("EVT-7 refuses a consumer of that name that would lose messages or reads something else", async () => {
      const stream = nextStream();
      await manager.streams.add({ name: stream, subjects: [`${stream}.>`] });
      const wrong = [
        [{ ack_policy: "none", filter_subject: `${stream}.t0` }, /has the ack policy none/],
        [{ ack_policy: "explicit", filter_subject: `${stream}.other` }, /reads case-\d+\.other, not/],
        [{ ack_policy: "explicit", filter_subject: `${stream}.t2`, max_deliver: 3 }, /gives up on messages/],
        [
          { ack_policy: "explicit", filter_subject: `${stream}.t3`, deliver_subject: "x" },
          /is a push consumer/,
        ],
      ] as const;
      const bus = busWith({ stream, prefix: `${stream}.` });
      for (const [at, [config, text]] of wrong.entries()) {
        await manager.consumers.add(stream, { ...config, durable_name: `g==t${at}` });
        const error = await rejection(bus.consume({ group: "g", topics: [`t${at}`], handler: nothing }));
        expect(error.message).to.match(text);
      }
    });

    it("EVT-7 is made anew when somebody has removed it", async () => {
      const stream = nextStream();
      const bus = busWith({ stream, prefix: `${stream}.` });
      const ids: string[] = [];
      await bus.consume({
        group: "g",
        topics: ["t"],
        handler: async ({ id }) => Promise.resolve(void ids.push(id)),
      });
      await manager.streams.delete(stream);
      const list = messages("t", 2);
      await bus.publish(list);
      await until("they have come", () => ids.length === 2);
      expect(idsOf(list)).to.deep.equal(ids);
    });

    it("EVT-7 takes a subject when one of its patterns does", () => {
      expect(covers("a.>", "a.b.c")).to.equal(true);
      expect(covers("a.>", "a")).to.equal(false);
      expect(covers("a.*.c", "a.b.c")).to.equal(true);
      expect(covers("a.*", "a.b.c")).to.equal(false);
      expect(covers("a.b", "a.b")).to.equal(true);
      expect(covers("a.*", "a.>")).to.equal(false);
      expect(covers(">", "a.>")).to.equal(true);
    });
  });

  describe("messages", () => {
    it("EVT-7 may have any id, the longest topic and the longest group", async () => {
      const topic = topicName("x".repeat(280)).padEnd(300, "y");
      const ids = ["50 % off", "%41", "Zürich/東京 🚀", "a=b:c", "i".repeat(255)];
      const list = ids.map((id) => ({ ...messages(topic, 1, { key: id })[0], id }) as BusMessage);
      const got: BusMessage[] = [];
      await busWith().consume({
        group: "g.".repeat(50),
        topics: [topic],
        handler: async (message) => Promise.resolve(void got.push(message)),
      });
      await busWith().publish(list);
      await until("all have come", () => got.length === list.length);
      expect(got).to.deep.equal(list);
    });

    it("EVT-7 are stored once in the duplicate window, in their order, however many there are", async () => {
      const topic = topicName("many");
      const list = messages(topic, 700, { key: "k" });
      const [one, two] = [busWith(), busWith()];
      await one.publish(list);
      await two.publish(list);
      const got = await collect(one, "g", topic);
      await until("all have come", () => got.length >= list.length);
      expect(got).to.deep.equal(idsOf(list));
    });

    it("EVT-7 stay with their consumer however long its handler takes", async () => {
      const topic = topicName("long");
      const gate = Promise.withResolvers<void>();
      let begun = 0;
      const handler = async (): Promise<void> => {
        begun++;
        await gate.promise;
      };
      for (const bus of [busWith({ ackWaitMs: 300 }), busWith({ ackWaitMs: 300 })]) {
        await bus.consume({ group: "g", topics: [topic], handler });
      }
      await open[0]?.publish(messages(topic, 1));
      await until("it has begun", () => begun > 0);
      await sleep(500);
      gate.resolve();
      await sleep(50);
      expect(begun).to.equal(1);
    });

    it("EVT-7 that were not begun at a stop are there at once for the next one", async () => {
      const topic = topicName("back");
      const list = messages(topic, 4, { key: "same" });
      const gate = Promise.withResolvers<void>();
      let begun = 0;
      const bus = busWith({ ackWaitMs: 60_000 });
      const consumption = await bus.consume({
        group: "g",
        topics: [topic],
        async handler() {
          begun++;
          await gate.promise;
        },
      });
      await bus.publish(list);
      await until("one has begun", () => begun === 1);
      await sleep(50);
      const stopping = consumption.stop();
      gate.resolve();
      await stopping;
      const got = await collect(busWith(), "g", topic);
      await until("the others have come, long before anybody takes them for lost", () => got.length === 3);
      expect(got).to.deep.equal(idsOf(list).slice(1));
    });

    it("EVT-7 that are too large for the server are refused for good", async () => {
      const [message] = messages(topicName("large"), 1, { body: "x".repeat(1_100_000) }) as [BusMessage];
      const error = await rejection(busWith({ maxBodyBytes: 2_000_000 }).publish([message]));
      expect(error).to.include({ code: "ERR_SVC_EVENT_BUS_MESSAGE", permanent: true, messageId: message.id });
      expect(error.message).to.match(/the server takes 1048576 bytes at most/);
    });

    it("EVT-7 that nobody of ours has published are left out, and begin with what comes when that is asked for", async () => {
      const topic = topicName("newest");
      const logger = collectingLogger();
      const bus = busWith({ startFrom: "newest", logger });
      await bus.publish(messages(topic, 2));
      const got = await collect(bus, "g", topic);
      connection.publish(`shared.${topic}`, "something else");
      await connection.flush();
      const list = messages(topic, 1);
      await bus.publish(list);
      await until("it has come", () => got.length > 0);
      expect(got).to.deep.equal(idsOf(list));
      expect(logger.at("error")).to.have.length(1);
    });
  });

  describe("faults", () => {
    it("EVT-7 ends publishing in time while the server hangs, says so, and goes on when it answers again", async () => {
      const topic = topicName("hung");
      const bus = busWith({ timeoutMs: 250 });
      const got = await collect(bus, "g", topic);
      const list = messages(topic, 2);
      await bus.publish(list.slice(0, 1));
      nats.server.pause();
      try {
        const error = await rejection(bus.publish(list.slice(1)));
        expect(error.code).to.equal("ERR_SVC_EVENT_BUS_UNAVAILABLE");
        expect(error.message).to.match(/NATS is not available: no answer/);
        const result = await bus.readiness().check(AbortSignal.timeout(5000));
        expect(result.healthy).to.equal(false);
      } finally {
        nats.server.resume();
      }
      await until("it takes messages again", () =>
        bus.publish(list).then(
          () => true,
          () => false,
        ),
      );
      await until("both have come", () => new Set(got).size === 2);
      expect(got, "each once, although it was published twice").to.have.length(2);
    });

    it("EVT-7 has after a restart of the server what was published before it", async () => {
      const topic = topicName("restart");
      const list = messages(topic, 3);
      const bus = busWith();
      await bus.publish(list);
      await nats.server.restart();
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

    it("EVT-7 fails at once while nothing listens, and shows no password anywhere", async () => {
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

    it("EVT-7 says when the password is wrong, and when there is no JetStream", async () => {
      const { port } = nats.server;
      const wrong = await rejection(
        busWith({ servers: `nats://somebody:wrong@127.0.0.1:${port}` }).publish(messages("t", 1)),
      );
      expect(wrong.message).to.equal("NATS refuses: the user or the password is wrong");
      await using plain = await startNats({ jetStream: false });
      const none = await rejection(busWith({ servers: plain.url }).publish(messages("t", 1)));
      expect(none.code).to.equal("ERR_SVC_EVENT_BUS_REFUSED");
      expect(none.message).to.match(/JetStream is not enabled/);
    });

    it("EVT-7 works over a connection that is there, which it leaves open", async () => {
      const bus = busWith({ connection });
      const topic = topicName("given");
      const list = messages(topic, 2);
      await bus.publish(list);
      const got = await collect(bus, "g", topic);
      await until("both have come", () => got.length === 2);
      await bus.close();
      expect(connection.isClosed()).to.equal(false);

      const own = await connect({
        servers: `127.0.0.1:${nats.server.port}`,
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

  it("EVT-7 says in its check that there is no stream yet", async () => {
    const stream = nextStream();
    const bus = busWith({ stream, prefix: `${stream}.` });
    const result = await bus.readiness().check(AbortSignal.timeout(5000));
    expect(result).to.deep.include({ healthy: true, detail: `connected; there is no stream ${stream} yet` });
  });

  it("EVT-7 names options that are wrong, and never their secrets", async () => {
    const wrong: [object, RegExp][] = [
      [{}, /servers: is required, or connection/],
      [{ servers: "http://user:pass-word@host" }, /servers: must be a URL such as/],
      [{ servers: ["nats://us%er:pass-word@host"] }, /servers: must be/],
      [{ servers: [] }, /servers: is empty/],
      [{ servers: "nats://host", connection }, /connection: is another place/],
      [{ connection, connect: {} }, /connect: is for servers/],
      [{ servers: "nats://host", connect: { reconnect: false } }, /connect: must not have reconnect/],
      [{ servers: "nats://host", stream: "a.b" }, /stream: must be 1 to 64/],
      [{ servers: "nats://host", prefix: "*." }, /prefix: must be empty/],
      [{ servers: "nats://host", ackWait: 1 }, /ackWait: is unknown; did you mean ackWaitMs\?/],
      [{ servers: "nats://host", retryBaseMs: 100, retryMaxMs: 50 }, /retryMaxMs: must not be less/],
      [{ servers: "nats://host", maxAgeDays: 0.001 }, /dedupSeconds: must not be more/],
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
