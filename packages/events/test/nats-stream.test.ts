import type { StreamConfig, StreamInfo } from "@nats-io/jetstream";
import { errors, type NatsConnection } from "@nats-io/transport-node";
import { EventBusError, type NatsJetStreamOptions } from "@svc/events/nats-jetstream";
import { rejection, until } from "@svc/test-support";
import { expect } from "chai";
import type { JetStream } from "../src/nats/connection.ts";
import { natsJetStreamOptions } from "../src/nats/options.ts";
import { covers, ensureStream } from "../src/nats/stream.ts";
import { idsOf, messages } from "./support/messages.ts";
import { natsBench, nextStream, nothing } from "./support/nats-bench.ts";

describe("the bus on NATS JetStream", function () {
  this.timeout(60_000);
  const bench = natsBench();
  const { busWith } = bench;

  describe("with its stream", () => {
    it("EVT-7 creates the stream as configured, with one durable pull consumer per group and topic", async () => {
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
      const { config } = await bench.manager.streams.info(stream);
      expect(config).to.deep.include({
        subjects: [`${stream}.>`],
        retention: "limits",
        storage: "memory",
        max_age: 2 * 86_400 * 1e9,
        duplicate_window: 60 * 1e9,
        num_replicas: 1,
      });
      const consumers = await bench.manager.consumers.list(stream).next();
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
      const stored = await bench.manager.streams.getMessage(stream, { seq: 1 });
      expect(stored?.subject).to.equal(`${stream}.order.paid`);
      expect(stored?.header.get("Event-Key")).to.equal("%C3%A4%201");
      expect(stored?.header.get("Nats-Msg-Id")).to.match(/^id-/);
    });

    it("EVT-7 adds subjects one by one without a prefix, even from several replicas concurrently", async () => {
      const stream = nextStream();
      const topics = Array.from({ length: 24 }, (_, at) => `${stream}.only.t${at}`);
      // On a slow machine, 24 updates in a row take longer than the default deadline of a call.
      const buses = topics.map(() => busWith({ stream, prefix: "", timeoutMs: 60_000 }));
      await Promise.all(buses.map((bus, at) => bus.publish(messages(topics[at] ?? "", 1))));
      const first = await bench.manager.streams.info(stream);
      expect(first.state.messages).to.equal(24);
      // The server has no compare-and-set for subjects: a replica with an outdated list can remove a subject again. The
      // next publish to that subject still stores its message.
      for (const [at, bus] of buses.entries()) await bus.publish(messages(topics[at] ?? "", 1));
      const later = busWith({ stream, prefix: "" });
      for (const topic of topics) await later.publish(messages(topic, 1));
      const { config, state } = await bench.manager.streams.info(stream);
      expect(config.subjects.toSorted()).to.deep.equal(topics.toSorted());
      expect(state.messages).to.equal(72);
    });

    it("EVT-7 adds a subject again while another replica keeps removing it, until the call is aborted", async () => {
      const stream = nextStream();
      await bench.manager.streams.add({ name: stream, subjects: [`${stream}.a`] });
      const options = natsJetStreamOptions.resolve({ connection: bench.connection, stream });
      const calling = new AbortController();
      let updates = 0;
      // Simulates a replica that, after each update, writes back the subject list from before the update.
      const overwritten = (times: number): JetStream => {
        const info = (name: string): Promise<StreamInfo> => bench.manager.streams.info(name);
        const update = async (name: string, config: StreamConfig): Promise<void> => {
          updates++;
          await bench.manager.streams.update(name, config);
          if (updates <= times) await bench.manager.streams.update(name, { subjects: [`${stream}.a`] });
          if (updates === 16) calling.abort();
        };
        return { manager: { streams: { info, update } } } as unknown as JetStream;
      };
      expect(await ensureStream(overwritten(13), options, [`${stream}.b`], calling.signal)).to.equal(false);
      expect(updates).to.equal(14);
      const { config } = await bench.manager.streams.info(stream);
      expect(config.subjects).to.deep.equal([`${stream}.a`, `${stream}.b`]);
      const error = await rejection(
        ensureStream(overwritten(Infinity), options, [`${stream}.c`], calling.signal),
      );
      expect(error.name).to.equal("AbortError");
      expect(updates).to.equal(16);
    });

    it("EVT-7 removes a subject that the server lists but does not serve, and adds it again", async () => {
      const stream = nextStream();
      const topic = `${stream}.a`;
      await bench.manager.streams.add({ name: stream, subjects: [topic, `${stream}.b`] });
      let isServed = false;
      // Behaves like a server that lost its subscription for the subject until the subject is added again.
      const request = ((subject, payload, options) => {
        const text = Buffer.from((payload ?? "") as Uint8Array).toString();
        if (subject.startsWith("$JS.API.STREAM.UPDATE.") && !text.includes(`"${topic}"`)) isServed = true;
        if (subject === topic && !isServed) {
          const cause = new errors.NoRespondersError(subject);
          return Promise.reject(new errors.RequestError("", { cause }));
        }
        return bench.connection.request(subject, payload, options);
      }) satisfies NatsConnection["request"];
      const connection = new Proxy(bench.connection, {
        get: (target, name) => (name === "request" ? request : (Reflect.get(target, name) as unknown)),
      });
      await busWith({ stream, prefix: "", connection }).publish(messages(topic, 1));
      const { config, state } = await bench.manager.streams.info(stream);
      expect(config.subjects).to.deep.equal([`${stream}.b`, topic]);
      expect(state.messages).to.equal(1);
    });

    it("EVT-7 adds its subject if another process replaces the stream right after it was created", async () => {
      const stream = nextStream();
      const options = natsJetStreamOptions.resolve({ connection: bench.connection, stream });
      const { streams } = bench.manager;
      const add = async (config: Partial<StreamConfig> & { name: string }): Promise<void> => {
        await streams.add(config);
        await streams.delete(config.name);
        await streams.add({ name: config.name, subjects: [`${stream}.a`] });
      };
      const jetStream = {
        manager: {
          streams: { info: streams.info.bind(streams), update: streams.update.bind(streams), add },
        },
      } as unknown as JetStream;
      const { signal } = new AbortController();
      expect(await ensureStream(jetStream, options, [`${stream}.b`], signal)).to.equal(true);
      const { config } = await streams.info(stream);
      expect(config.subjects).to.deep.equal([`${stream}.a`, `${stream}.b`]);
    });

    it("EVT-7 rejects a stream with incompatible settings, and with manageStream: false neither creates nor changes a stream", async () => {
      const [work, foreign, fixed] = [nextStream(), nextStream(), nextStream()];
      await bench.manager.streams.add({ name: work, subjects: [`${work}.>`], retention: "workqueue" });
      await bench.manager.streams.add({ name: foreign, subjects: [`${foreign}.>`] });
      await bench.manager.streams.add({ name: fixed, subjects: [`${fixed}.a`] });
      const wrong: [Partial<NatsJetStreamOptions>, RegExp][] = [
        [{ stream: work, prefix: `${work}.` }, /the stream case-\d+ has the retention workqueue/],
        [{ stream: nextStream(), prefix: `${foreign}.` }, /subjects overlap with an existing stream/],
        [{ stream: nextStream(), manageStream: false }, /there is no stream case-\d+/],
        [
          { stream: fixed, prefix: `${fixed}.`, manageStream: false },
          /does not accept case-\d+\.>; it accepts case-\d+\.a/,
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
      expect((await bench.manager.streams.info(fixed)).config.subjects).to.deep.equal([`${fixed}.a`]);
    });

    it("EVT-7 rejects an existing consumer that would lose messages or reads another subject", async () => {
      const stream = nextStream();
      await bench.manager.streams.add({ name: stream, subjects: [`${stream}.>`] });
      const wrong = [
        [{ ack_policy: "none", filter_subject: `${stream}.t0` }, /has the ack policy none/],
        [{ ack_policy: "explicit", filter_subject: `${stream}.other` }, /reads case-\d+\.other, not/],
        [{ ack_policy: "explicit", filter_subject: `${stream}.t2`, max_deliver: 3 }, /limits deliveries/],
        [
          { ack_policy: "explicit", filter_subject: `${stream}.t3`, deliver_subject: "x" },
          /is a push consumer/,
        ],
      ] as const;
      const bus = busWith({ stream, prefix: `${stream}.` });
      for (const [at, [config, text]] of wrong.entries()) {
        await bench.manager.consumers.add(stream, { ...config, durable_name: `g==t${at}` });
        const error = await rejection(bus.consume({ group: "g", topics: [`t${at}`], handler: nothing }));
        expect(error.message).to.match(text);
      }
    });

    it("EVT-7 re-creates the stream after it was removed", async () => {
      const stream = nextStream();
      const bus = busWith({ stream, prefix: `${stream}.` });
      const ids: string[] = [];
      await bus.consume({
        group: "g",
        topics: ["t"],
        handler: async ({ id }) => Promise.resolve(void ids.push(id)),
      });
      await bench.manager.streams.delete(stream);
      const list = messages("t", 2);
      await bus.publish(list);
      await until("they have come", () => ids.length === 2);
      expect(idsOf(list)).to.deep.equal(ids);
    });

    it("EVT-7 recognizes whether a pattern of the stream covers a subject", () => {
      expect(covers("a.>", "a.b.c")).to.equal(true);
      expect(covers("a.>", "a")).to.equal(false);
      expect(covers("a.*.c", "a.b.c")).to.equal(true);
      expect(covers("a.*", "a.b.c")).to.equal(false);
      expect(covers("a.b", "a.b")).to.equal(true);
      expect(covers("a.*", "a.>")).to.equal(false);
      expect(covers(">", "a.>")).to.equal(true);
    });
  });

  it("EVT-7 is healthy before its stream exists, and reports that the stream is missing", async () => {
    const stream = nextStream();
    const bus = busWith({ stream, prefix: `${stream}.` });
    const result = await bus.readiness().check(AbortSignal.timeout(5000));
    expect(result).to.deep.include({ healthy: true, detail: `connected; there is no stream ${stream} yet` });
  });
});
