import { once } from "node:events";
import { createRequire } from "node:module";
import { connect, type Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { ROOT_CONTEXT, type Span, SpanKind, SpanStatusCode, trace, TraceFlags } from "@opentelemetry/api";
import { hrTimeToNanoseconds, TraceState } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import {
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import { rejection } from "@svc/test-support";
import {
  type Behaviour,
  decodeJson,
  decodeProtobuf,
  openOtlpReceiver,
  type ReceivedSpan,
  receivedSpans,
} from "@svc/test-support/otlp";
import { expect } from "chai";
import fc from "fast-check";

interface Serializer {
  serializeRequest(spans: readonly ReadableSpan[]): Uint8Array;
}

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const REMOTE_ID = "b7ad6b7169203331";
const PROTOBUF = "application/x-protobuf";

// The serializers are a dependency of the exporter.
const exporterRequire = createRequire(import.meta.resolve("@opentelemetry/exporter-trace-otlp-http"));
const serializers = exporterRequire("@opentelemetry/otlp-transformer") as Readonly<
  Record<"JsonTraceSerializer" | "ProtobufTraceSerializer", Serializer>
>;

function toJson(spans: readonly ReadableSpan[]): Buffer {
  return Buffer.from(serializers.JsonTraceSerializer.serializeRequest(spans));
}

function toProtobuf(spans: readonly ReadableSpan[]): Buffer {
  return Buffer.from(serializers.ProtobufTraceSerializer.serializeRequest(spans));
}

/** Returns the spans that the SDK finishes while `fn` runs. */
function record(fn: (start: (name: string, kind?: SpanKind, parent?: Span) => Span) => void): ReadableSpan[] {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] });
  const tracer = provider.getTracer("orders", "1.2.3");
  fn((name, kind = SpanKind.INTERNAL, parent) =>
    tracer.startSpan(
      name,
      { kind },
      parent === undefined ? ROOT_CONTEXT : trace.setSpan(ROOT_CONTEXT, parent),
    ),
  );
  return exporter.getFinishedSpans();
}

const recorded = record((start) => {
  const remote = trace.wrapSpanContext({
    traceId: TRACE_ID,
    spanId: REMOTE_ID,
    traceFlags: TraceFlags.SAMPLED,
    isRemote: true,
    traceState: new TraceState("vendor=a,other=b"),
  });
  const server = start("GET /orders/:id", SpanKind.SERVER, remote);
  server.setAttributes({
    text: "größe € 🙂",
    empty: "",
    int: 42,
    negative: -7,
    largest: Number.MAX_SAFE_INTEGER,
    double: 0.1,
    huge: 1e300,
    true: true,
    false: false,
    texts: ["a", "b"],
    ints: [1, -2, 3],
    doubles: [0.5, 1.5],
    flags: [true, false],
    none: [],
    holes: ["a", null],
  });
  server.addEvent("cache miss", { key: "k" });
  server.recordException(new TypeError("no such order"));
  const client = start("SELECT orders", SpanKind.CLIENT, server);
  client.setStatus({ code: SpanStatusCode.ERROR, message: "relation is missing" }).end();
  start("publish", SpanKind.PRODUCER, server).setStatus({ code: SpanStatusCode.OK }).end();
  start("consume", SpanKind.CONSUMER, server).end();
  server.end();
  start("tick").end();
});

function only(spans: readonly ReceivedSpan[], name: string): ReceivedSpan {
  const found = spans.filter((span) => span.name === name);
  expect(found, name).to.have.length(1);
  return found[0] as ReceivedSpan;
}

function post(url: string, body: Buffer | string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { method: "POST", body, headers: { "content-type": "application/json", ...headers } });
}

function portOf(url: string): number {
  return Number(new URL(url).port);
}

/** Opens a connection with a request whose body the server waits for. */
async function openUnfinished(url: string): Promise<Socket> {
  const socket = connect(portOf(url), "127.0.0.1");
  socket.write("POST /v1/traces HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\ncontent-length: 99\r\n\r\n");
  await once(socket, "data");
  socket.write("{");
  return socket;
}

/** Resolves when the socket is closed, even by a reset. */
function closing(socket: Socket): Promise<void> {
  socket.on("error", () => undefined);
  return new Promise((resolve) => void socket.once("close", () => resolve()));
}

/** Returns what a receiver gets from the exporter of OpenTelemetry. */
async function exported(options: { readonly compression?: "gzip" }): Promise<readonly ReceivedSpan[]> {
  await using receiver = await openOtlpReceiver();
  // The type of `compression` is an enum of a package that the exporter does not export.
  const exporter = new OTLPTraceExporter({ url: receiver.url, ...options } as object);
  const result = await new Promise<{ code: number }>((resolve) => exporter.export(recorded, resolve));
  await exporter.shutdown();
  expect(result.code).to.equal(0);
  expect(receiver.requests).to.have.length(1);
  expect(receiver.requests[0]).to.include({
    path: "/v1/traces",
    encoding: "json",
    spanCount: 5,
    fault: undefined,
  });
  expect(receiver.requests[0]?.headers["content-encoding"]).to.equal(options.compression);
  expect(receiver.bodies.map(String)).to.deep.equal([String(toJson(recorded))]);
  return receiver.spans;
}

describe("the OTLP receiver", () => {
  describe("with spans of the OpenTelemetry SDK", () => {
    const spans = receivedSpans(decodeJson(toJson(recorded)));

    it("returns equal spans for both encodings, with and without gzip", async () => {
      expect(await exported({})).to.deep.equal(spans);
      expect(await exported({ compression: "gzip" })).to.deep.equal(spans);
      await using receiver = await openOtlpReceiver();
      const body = toProtobuf(recorded);
      for (const [sent, headers] of [
        [body, {}],
        [gzipSync(body), { "content-encoding": "gzip" }],
      ] as const) {
        receiver.clear();
        const answer = await post(receiver.url, sent, { "content-type": PROTOBUF, ...headers });
        expect(answer.status).to.equal(200);
        expect(answer.headers.get("content-type")).to.equal(PROTOBUF);
        expect(await answer.text()).to.equal("");
        expect(receiver.spans).to.deep.equal(spans);
        expect(receiver.bodies).to.deep.equal([body]);
        expect(receiver.requests).to.have.length(1);
        expect(receiver.requests[0]).to.include({ encoding: "protobuf", spanCount: 5, fault: undefined });
      }
    });

    it("returns ids, parents, trace state, flags, kinds, times, scope and resource", () => {
      expect(spans).to.have.length(recorded.length);
      for (const sdk of recorded) {
        const span = only(spans, sdk.name);
        expect(span).to.include({
          traceId: sdk.spanContext().traceId,
          spanId: sdk.spanContext().spanId,
          parentSpanId: sdk.parentSpanContext?.spanId,
          startMs: hrTimeToNanoseconds(sdk.startTime) / 1e6,
          endMs: hrTimeToNanoseconds(sdk.endTime) / 1e6,
          scope: "orders",
        });
        expect(span.resource).to.deep.equal(sdk.resource.attributes);
      }
      expect(spans.map(({ name, kind }) => [name, kind])).to.deep.equal([
        ["SELECT orders", "client"],
        ["publish", "producer"],
        ["consume", "consumer"],
        ["GET /orders/:id", "server"],
        ["tick", "internal"],
      ]);
      const server = only(spans, "GET /orders/:id");
      const remote = {
        traceId: TRACE_ID,
        parentSpanId: REMOTE_ID,
        traceState: "vendor=a,other=b",
        flags: 0x301,
      };
      expect(server).to.include(remote);
      expect(only(spans, "publish")).to.include({ parentSpanId: server.spanId, flags: 0x101 });
      expect(only(spans, "tick")).to.include({ parentSpanId: undefined, traceState: undefined });
    });

    it("returns attributes of all types, events with an exception, and the status", () => {
      const server = only(spans, "GET /orders/:id");
      expect(server.attributes).to.deep.equal({
        text: "größe € 🙂",
        empty: "",
        int: 42,
        negative: -7,
        largest: Number.MAX_SAFE_INTEGER,
        double: 0.1,
        huge: 1e300,
        true: true,
        false: false,
        texts: ["a", "b"],
        ints: [1, -2, 3],
        doubles: [0.5, 1.5],
        flags: [true, false],
        none: [],
        holes: ["a", null],
      });
      const [miss, exception] = server.events;
      expect(miss).to.deep.include({ name: "cache miss", attributes: { key: "k" } });
      expect(miss?.timeMs).to.be.within(server.startMs, server.endMs);
      expect(exception?.name).to.equal("exception");
      expect(exception?.attributes).to.include({
        "exception.type": "TypeError",
        "exception.message": "no such order",
      });
      expect(server.status).to.deep.equal({ code: "unset", message: undefined });
      expect(only(spans, "publish").status).to.deep.equal({ code: "ok", message: undefined });
      expect(only(spans, "SELECT orders").status).to.deep.equal({
        code: "error",
        message: "relation is missing",
      });
    });

    it("returns bytes, maps and empty values, which the SDK does not let a tracer set", () => {
      const attributes = { bytes: new Uint8Array([0, 255]), map: { a: [1, { b: "c" }] }, empty: null };
      const span = Object.create(recorded[0] as ReadableSpan, {
        attributes: { value: attributes },
      }) as ReadableSpan;
      const expected = { ...attributes, bytes: Buffer.from([0, 255]) };
      for (const decoded of [decodeJson(toJson([span])), decodeProtobuf(toProtobuf([span]))]) {
        expect(receivedSpans(decoded)[0]?.attributes).to.deep.equal(expected);
      }
    });
  });

  describe("with a request without spans", () => {
    it("returns 200 with an empty body", async () => {
      await using receiver = await openOtlpReceiver();
      const json = await post(receiver.url, "{}", { "content-type": "application/json; charset=utf-8" });
      expect([json.status, json.headers.get("content-type"), await json.text()]).to.deep.equal([
        200,
        "application/json",
        "{}",
      ]);
      expect((await post(receiver.url, "", { "content-type": PROTOBUF })).status).to.equal(200);
      expect(receiver.spans).to.deep.equal([]);
    });
  });

  describe("with a hand-written request", () => {
    const span = (members: object): object => ({
      resourceSpans: [{ scopeSpans: [{ spans: [{ traceId: TRACE_ID, spanId: REMOTE_ID, ...members }] }] }],
    });
    const attribute = (value: unknown, key: unknown = "k"): object => span({ attributes: [{ key, value }] });
    const faulty: readonly unknown[] = [
      null,
      [],
      "text",
      { resourceSpans: {} },
      { resourceSpans: [1] },
      { resourceSpans: [{ resource: [] }] },
      span({ traceId: "" }),
      span({ traceId: TRACE_ID.slice(1) }),
      span({ spanId: "0".repeat(16) }),
      span({ parentSpanId: "x".repeat(16) }),
      span({ name: 1 }),
      span({ kind: 6 }),
      span({ kind: "SPAN_KIND_SERVER" }),
      span({ startTimeUnixNano: "soon" }),
      span({ startTimeUnixNano: 1.5 }),
      span({ status: { code: 3 } }),
      span({ attributes: { k: "v" } }),
      attribute({ stringValue: 1 }),
      attribute({ boolValue: "true" }),
      attribute({ intValue: "1.5" }),
      attribute({ doubleValue: "0.5" }),
      attribute({ stringValue: "a", intValue: 1 }),
      attribute({ arrayValue: { values: ["a"] } }),
      attribute({}, 5),
      span({ attributes: [{ key: "k" }, { key: "k" }] }),
    ];

    it("returns 400 with the reason for invalid JSON", async () => {
      await using receiver = await openOtlpReceiver();
      const bodies = [
        "",
        "{",
        "{}x",
        Buffer.from('{"a":"\xff"}', "latin1"),
        ...faulty.map((each) => JSON.stringify(each)),
      ];
      for (const body of bodies) {
        const answer = await post(receiver.url, body);
        expect(answer.status, String(body)).to.equal(400);
        const { message } = (await answer.json()) as { message: unknown };
        expect(message).to.be.a("string").and.equal(receiver.requests.at(-1)?.fault);
      }
      expect(receiver.spans).to.deep.equal([]);
      const { status } = await post(receiver.url, JSON.stringify(attribute({ doubleValue: "NaN" })));
      expect(status).to.equal(200);
      expect(receiver.spans[0]?.attributes).to.deep.equal({ k: Number.NaN });
    });

    it("returns ids in lower case, and integers that JSON carries as text", async () => {
      await using receiver = await openOtlpReceiver();
      const members = { traceId: TRACE_ID.toUpperCase(), kind: 2, startTimeUnixNano: "1700000000000500000" };
      await post(receiver.url, JSON.stringify(span({ ...members, attributes: null, flags: 0 })));
      expect(receiver.spans[0]).to.deep.include({
        traceId: TRACE_ID,
        kind: "server",
        startMs: 1_700_000_000_000.5,
        attributes: {},
        flags: undefined,
      });
    });

    it("rejects protobuf that is truncated at any byte", () => {
      const body = toProtobuf(recorded);
      for (let length = 1; length < body.length; length += 1) {
        expect(() => decodeProtobuf(body.subarray(0, length)), String(length)).to.throw(/truncated/);
      }
    });

    it("returns 400 for truncated protobuf and truncated gzip", async () => {
      await using receiver = await openOtlpReceiver();
      const body = toProtobuf(recorded);
      const headers = { "content-type": PROTOBUF };
      expect((await post(receiver.url, body.subarray(0, -1), headers)).status).to.equal(400);
      const zipped = { ...headers, "content-encoding": "gzip" };
      expect((await post(receiver.url, gzipSync(body).subarray(0, -9), zipped)).status).to.equal(400);
      expect((await post(receiver.url, body, zipped)).status).to.equal(400);
      expect((await post(receiver.url, body, headers)).status).to.equal(200);
      expect(receiver.requests.map(({ spanCount }) => spanCount)).to.deep.equal([0, 0, 0, 5]);
    });

    it("rejects wrong wire types, groups, field number 0, long varints and invalid UTF-8", () => {
      const faults: Readonly<Record<string, RegExp>> = {
        "0801": /field 1 \(resourceSpans\) must have the wire type bytes; got varint/,
        "0b": /field 1 has the unknown wire type 3/,
        "0001": /number 0/,
        "18ffffffffffffffffffff01": /more than 10 bytes/,
        "0a0712050a030a01ff": /utf-8/,
      };
      for (const [hex, message] of Object.entries(faults)) {
        expect(() => decodeProtobuf(Buffer.from(hex, "hex")), hex).to.throw(message);
      }
    });

    it("skips unknown fields of every wire type", () => {
      const unknown = Buffer.from("a006ffffffffffffffffff01a1060102030405060708a2060161a50601020304", "hex");
      const body = Buffer.concat([unknown, toProtobuf(recorded), unknown]);
      expect(decodeProtobuf(body)).to.deep.equal(decodeProtobuf(toProtobuf(recorded)));
    });

    it("returns 200 or 400 for protobuf with changed bytes", async () => {
      await using receiver = await openOtlpReceiver();
      const body = toProtobuf(recorded);
      const changes = fc.array(fc.tuple(fc.nat(body.length - 1), fc.nat(255)), {
        minLength: 1,
        maxLength: 5,
      });
      await fc.assert(
        fc.asyncProperty(changes, async (bytes) => {
          const changed = Buffer.from(body);
          for (const [position, byte] of bytes) changed[position] = byte;
          expect((await post(receiver.url, changed, { "content-type": PROTOBUF })).status).to.be.oneOf([
            200, 400,
          ]);
        }),
        { numRuns: 200 },
      );
    });

    it("returns 404, 405 and 415 for another path, method, content type and content encoding", async () => {
      await using receiver = await openOtlpReceiver();
      const statuses = [
        await post(receiver.url.replace("traces", "logs"), "{}"),
        await fetch(receiver.url),
        await post(receiver.url, "{}", { "content-type": "text/plain" }),
        await post(receiver.url, "{}", { "content-encoding": "br" }),
      ].map(({ status }) => status);
      expect(statuses).to.deep.equal([404, 405, 415, 415]);
      expect(receiver.requests.filter(({ fault }) => fault === undefined)).to.deep.equal([]);
    });

    it("returns 400 for attributes that are nested too deeply for the stack", async () => {
      await using receiver = await openOtlpReceiver();
      const depth = 50_000;
      const nested = JSON.stringify(attribute({ arrayValue: { values: ["deep"] } })).replace(
        '"deep"',
        '{"arrayValue":{"values":['.repeat(depth) + "]}}".repeat(depth),
      );
      expect((await post(receiver.url, nested)).status).to.equal(400);
      expect(receiver.requests[0]?.fault).to.match(/call stack/);
    });

    it("keeps responding after a client closes the connection inside a body", async () => {
      await using receiver = await openOtlpReceiver();
      const unhandled: unknown[] = [];
      const note = (reason: unknown): unknown => unhandled.push(reason);
      process.on("unhandledRejection", note);
      try {
        (await openUnfinished(receiver.url)).resetAndDestroy();
        expect((await post(receiver.url, toJson(recorded))).status).to.equal(200);
      } finally {
        process.off("unhandledRejection", note);
      }
      expect(receiver.requests).to.have.length(1);
      expect(unhandled).to.deep.equal([]);
    });
  });

  describe("spansWhen()", () => {
    it("resolves immediately when the predicate holds, and otherwise at the request that fulfils it", async () => {
      await using receiver = await openOtlpReceiver();
      expect(await receiver.spansWhen(() => true)).to.deep.equal([]);
      const both = receiver.spansWhen((spans) => spans.length === 10);
      await post(receiver.url, toJson(recorded));
      await post(receiver.url, toProtobuf(recorded), { "content-type": PROTOBUF });
      expect(await both).to.deep.equal(receiver.spans);
    });

    it("rejects with the names of the received spans and the faults after the time limit", async () => {
      await using receiver = await openOtlpReceiver();
      await post(receiver.url, toJson(recorded.slice(0, 2)));
      await post(receiver.url, "[]");
      const { message } = await rejection(receiver.spansWhen(() => false, 1));
      expect(message).to.equal(
        "no match within 1 ms; received spans: SELECT orders, publish; faults: the request must be an object; got []",
      );
    });

    it("rejects when the predicate throws and when the receiver closes", async () => {
      const receiver = await openOtlpReceiver();
      const fault = new Error("a fault of the test");
      const thrown = await rejection(
        receiver.spansWhen(() => {
          throw fault;
        }),
      );
      expect(thrown).to.equal(fault);
      const pending = rejection(receiver.spansWhen(() => false));
      await receiver[Symbol.asyncDispose]();
      expect((await pending).message).to.equal("the receiver closed; received spans: none");
    });
  });

  it("discards spans, bodies and requests at clear()", async () => {
    await using receiver = await openOtlpReceiver();
    await post(receiver.url, toJson(recorded));
    receiver.clear();
    expect([receiver.spans, receiver.bodies, receiver.requests]).to.deep.equal([[], [], []]);
  });

  it("closes while connections are idle and requests are incomplete", async () => {
    const receiver = await openOtlpReceiver();
    const idle = connect(portOf(receiver.url), "127.0.0.1");
    await once(idle, "connect");
    const sockets = [idle, await openUnfinished(receiver.url)];
    const closed = sockets.map((socket) => closing(socket));
    await receiver[Symbol.asyncDispose]();
    await Promise.all(closed);
    expect(await rejection(post(receiver.url, "{}"))).to.be.instanceOf(TypeError);
  });

  describe("with a fault", () => {
    const body = toJson(recorded);

    for (const behaviour of ["429", "503", "500"] as const) {
      it(`returns ${behaviour} and records the request without accepting its spans`, async () => {
        await using receiver = await openOtlpReceiver({ behaviour });
        const answer = await post(receiver.url, body);
        expect([answer.status, await answer.text()]).to.deep.equal([Number(behaviour), ""]);
        expect(receiver.requests.map(({ spanCount }) => spanCount)).to.deep.equal([5]);
        expect(receiver.bodies).to.deep.equal([body]);
        expect(receiver.spans).to.deep.equal([]);
        receiver.behave("accept");
        expect((await post(receiver.url, body)).status).to.equal(200);
        expect(receiver.spans).to.have.length(5);
      });
    }

    it("destroys the socket in the mode refuse", async () => {
      await using receiver = await openOtlpReceiver({ behaviour: "refuse" });
      const { cause } = await rejection(post(receiver.url, body));
      expect((cause as NodeJS.ErrnoException).code).to.be.oneOf(["UND_ERR_SOCKET", "ECONNRESET", "EPIPE"]);
      expect(receiver.requests.map(({ spanCount }) => spanCount)).to.deep.equal([0]);
      expect(receiver.bodies).to.deep.equal([]);
    });

    it("never responds in the mode hang, and still closes", async () => {
      const receiver = await openOtlpReceiver({ behaviour: "hang" });
      const pending = rejection(post(receiver.url, body));
      await receiver.spansWhen(() => receiver.requests.length === 1);
      expect(receiver.spans).to.deep.equal([]);
      await receiver[Symbol.asyncDispose]();
      expect((await pending).cause).to.include({ code: "UND_ERR_SOCKET" });
    });

    it("returns 200 with bytes that are not JSON and differ each time in the mode garbage", async () => {
      await using receiver = await openOtlpReceiver({ behaviour: "garbage" });
      const answers = [await post(receiver.url, body), await post(receiver.url, body)];
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200]);
      const [first, second] = await Promise.all(answers.map((answer) => answer.bytes()));
      expect(first).to.have.length(64).and.not.to.deep.equal(second);
      expect(() => JSON.parse(Buffer.from(first ?? []).toString())).to.throw(SyntaxError);
      expect(receiver.spans).to.have.length(10);
    });

    it("sends 200 with one byte at a time and never ends in the mode drip", async () => {
      const receiver = await openOtlpReceiver({ behaviour: "drip", dripMs: 20 });
      const answer = await post(receiver.url, body);
      expect(answer.status).to.equal(200);
      const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
      for (let read = 0; read < 5; read += 1) {
        const { done, value } = await reader.read();
        expect(done).to.equal(false);
        expect(value?.length).to.be.above(0);
      }
      await receiver[Symbol.asyncDispose]();
      const readToEnd = async (): Promise<void> => {
        while (!(await reader.read()).done);
      };
      expect(await rejection(readToEnd())).to.be.instanceOf(TypeError);
    });
  });

  it("makes the exporter of OpenTelemetry report success in the mode accept, and failure in the mode 500", async () => {
    const outcomes: Partial<Record<Behaviour, number>> = {};
    for (const behaviour of ["accept", "500"] as const) {
      await using receiver = await openOtlpReceiver({ behaviour });
      const exporter = new OTLPTraceExporter({ url: receiver.url });
      const result = await new Promise<{ code: number }>((resolve) => exporter.export(recorded, resolve));
      outcomes[behaviour] = result.code;
      await exporter.shutdown();
    }
    expect(outcomes).to.deep.equal({ accept: 0, "500": 1 });
  });
});
