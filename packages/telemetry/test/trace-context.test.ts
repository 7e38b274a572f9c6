import { currentTrace, type Middleware } from "@svc/context";
import { propagationHeaders, requestId } from "@svc/request-id";
import { telemetry, type TelemetryMiddleware } from "@svc/telemetry";
import { listen, type Listening, rawRequest } from "@svc/test-support";
import { expect } from "chai";
import connect from "connect";
import {
  CALLER,
  futureVersionCases,
  type HeaderLine,
  TRACE_ID,
  type TraceContextCase,
  traceparentCases,
  TRACEPARENT,
  tracestateCases,
} from "./support/trace-context-cases.ts";
import { type HeaderPair, invalidHeaders, validPairs } from "./support/trace-context-samples.ts";

type Headers = Record<string, string>;

/** Trace headers that a service has sent on. */
interface Sent {
  readonly traceId: string;
  readonly parentId: string;
  readonly flags: string;
  readonly members: readonly string[];
}

function requestText(path: string, headers: readonly HeaderLine[], connection: string): string {
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return `GET ${path} HTTP/1.1\r\nHost: a\r\n${lines}Connection: ${connection}\r\n\r\n`;
}

function sentIn(rawHeaders: readonly string[]): Sent {
  const valuesOf = (name: string): readonly string[] =>
    rawHeaders.filter((_text, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);
  const [traceparent = "", ...more] = valuesOf("traceparent");
  expect(more).to.deep.equal([]);
  expect(traceparent).to.match(/^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/);
  const [, traceId = "", parentId = "", flags = ""] = traceparent.split("-");
  const members = valuesOf("tracestate").flatMap((value) => value.split(","));
  return { traceId, parentId, flags, members: members.map((each) => each.trim()).filter(Boolean) };
}

const NO_TRACE = { traceparent: "missing" };

/** Ways to build an exporting service, with the headers that its outbound calls send. */
const services: Readonly<Record<string, readonly [front: readonly Middleware[], headers: () => Headers]>> = {
  "requestId() and telemetry()": [[requestId()], () => propagationHeaders()],
  "telemetry() alone": [
    [],
    () => {
      const { traceparent = "", tracestate } = currentTrace() ?? {};
      return tracestate === undefined ? { traceparent } : { traceparent, tracestate };
    },
  ],
};

for (const [name, [front, headersOf]] of Object.entries(services)) {
  describe(`W3C Trace Context, level 2, with ${name}`, () => {
    let tracing: TelemetryMiddleware;
    let next: Listening;
    let service: Listening;
    let received: string[][] = [];

    before(async () => {
      tracing = telemetry({ service: "orders", exporter: "memory" });
      await tracing.ready;
      next = await listen((req, res) => {
        received.push(req.rawHeaders);
        res.end();
      });
      const app = connect();
      for (const each of [...front, tracing]) app.use(each);
      app.use("/three", (_req, res) => void threeCalls().then(() => res.end()));
      app.use((_req, res) => void fetch(next.url, { headers: headersOf() }).then(() => res.end()));
      service = await listen(app);
    });
    beforeEach(() => (received = []));
    after(async () => {
      await service[Symbol.asyncDispose]();
      await next[Symbol.asyncDispose]();
      await tracing.stop();
    });

    /** Calls the next service three times concurrently, each time in a client span as an HTTP client does. */
    function threeCalls(): Promise<unknown> {
      const call = (): unknown =>
        tracing.span("GET", "client", {}, ({ trace: { traceparent } = NO_TRACE }) =>
          fetch(next.url, { headers: { ...headersOf(), traceparent } }),
        );
      return Promise.all([call(), call(), call()]);
    }

    async function sentAfter(headers: readonly HeaderLine[], path = "/"): Promise<readonly Sent[]> {
      const { status } = await rawRequest(
        service.port,
        Buffer.from(requestText(path, headers, "close"), "latin1"),
      );
      expect(status).to.equal(200);
      return received.map(sentIn);
    }

    async function check({ headers, continued }: TraceContextCase): Promise<void> {
      const [sent, ...others] = await sentAfter(headers);
      expect(others).to.deep.equal([]);
      if (continued === undefined) {
        expect(sent).to.deep.include({ flags: "01", members: [] });
        expect(headers.map(([, value]) => value).join()).not.to.include(sent?.traceId);
      } else {
        expect(sent).to.deep.include({ traceId: TRACE_ID, ...continued });
      }
      expect(sent?.parentId).not.to.equal(CALLER);
    }

    for (const each of traceparentCases) {
      const result = each.continued === undefined ? "starts a trace" : "continues the trace";
      it(`COR-9 COR-14 TRACE-18 ${result} for ${each.title}`, () => check(each));
    }
    for (const each of futureVersionCases) {
      it(`COR-10 COR-11 starts a trace for ${each.title}`, () => check(each));
    }
    for (const each of tracestateCases) {
      const result =
        each.continued?.members.length === 0 ? "drops only the trace state" : "keeps the trace state";
      it(`COR-13 COR-14 ${result} for ${each.title}`, () => check(each));
    }

    const three: Readonly<Record<string, readonly HeaderLine[]>> = {
      "of a caller": [["traceparent", TRACEPARENT]],
      "that starts in the service": [],
      "that starts after an invalid traceparent": [["traceparent", `00-${"0".repeat(32)}-${CALLER}-01`]],
    };
    for (const [which, headers] of Object.entries(three)) {
      it(`COR-13 TRACE-18 sends three calls from client spans with three parent ids in the one trace ${which}`, async () => {
        const sent = await sentAfter(headers, "/three");
        expect(sent).to.have.lengthOf(3);
        expect(new Set(sent.map(({ parentId }) => parentId)).add(CALLER)).to.have.property("size", 4);
        const [traceId, ...others] = new Set(sent.map((each) => each.traceId));
        expect(others).to.deep.equal([]);
        expect(traceId === TRACE_ID).to.equal(which === "of a caller");
      });
    }
  });
}

it("W3C Trace Context, level 2, is tested with 116 different cases", () => {
  const all = [...traceparentCases, ...futureVersionCases, ...tracestateCases];
  expect(all).to.have.lengthOf(116);
  expect(new Set(all.map(({ title }) => title))).to.have.property("size", 116);
});

const COUNT = 1000;

const relays: Readonly<Record<string, () => readonly Middleware[]>> = {
  "without telemetry()": () => [requestId()],
  "with telemetry() without an endpoint": () => [requestId(), telemetry({ service: "orders" })],
};

for (const [name, middleware] of Object.entries(relays)) {
  describe(`a service ${name}`, () => {
    /** Sends requests over one connection, and returns the trace headers that each would send on. */
    async function relayed(requests: readonly (readonly HeaderLine[])[]): Promise<Partial<HeaderPair>[]> {
      const sent: Partial<HeaderPair>[] = [];
      const app = connect();
      for (const each of middleware()) app.use(each);
      app.use((_req, res) => {
        const { traceparent, tracestate } = propagationHeaders() as Partial<HeaderPair>;
        sent.push({ ...(traceparent === undefined ? {} : { traceparent }), tracestate });
        res.end();
      });
      await using server = await listen(app);
      const texts = requests.map((each, at) =>
        requestText("/", each, at === COUNT - 1 ? "close" : "keep-alive"),
      );
      await rawRequest(server.port, Buffer.from(texts.join(""), "latin1"));
      return sent;
    }

    it("COR-9 COR-15 propagates 1,000 valid header pairs byte for byte", async () => {
      const pairs = validPairs(COUNT);
      const sent = await relayed(
        pairs.map(({ traceparent, tracestate }) => [
          ["traceparent", traceparent],
          ...(tracestate === undefined ? [] : [["tracestate", tracestate] as const]),
        ]),
      );
      expect(sent).to.have.lengthOf(COUNT);
      expect(pairs.filter(({ tracestate }) => tracestate !== undefined)).to.have.lengthOf.above(700);
      expect(sent.filter((each, at) => !isSame(each, pairs[at]))).to.deep.equal([]);
    });

    it("COR-10 COR-11 drops 1,000 invalid traceparents together with their tracestate", async () => {
      const requests = invalidHeaders(COUNT);
      const sent = await relayed(requests);
      const kept = requests.filter((_, at) => !isSame(sent[at], {}));
      expect(kept).to.deep.equal([]);
      expect(sent.filter((each) => isSame(each, {}))).to.have.lengthOf(COUNT);
    });
  });
}

function isSame(one: Partial<HeaderPair> | undefined, other: Partial<HeaderPair> | undefined): boolean {
  return one?.traceparent === other?.traceparent && one?.tracestate === other?.tracestate;
}
