import type { SpanAttributes, SpanHook, SpanKind, TraceContext } from "@svc/context";
import { rawRequest, until } from "@svc/test-support";
import { expect } from "chai";
import { channel } from "node:diagnostics_channel";
import type { ServerResponse } from "node:http";
import { closedOrigin, startGateway, startUpstream, withRequestId } from "./support/servers.ts";
import { handshake, openRaw, startWebSockets } from "./support/websockets.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const callers = `00-${TRACE}-b7ad6b7169203331-01`;
const own: TraceContext = {
  traceId: TRACE,
  traceparent: `00-${TRACE}-00f067aa0ba902b7-01`,
  tracestate: "own=1",
};

interface Recorded {
  readonly name: string;
  readonly kind: SpanKind;
  attributes: SpanAttributes;
  outcome: "open" | "ended" | "failed";
}

/** Returns a hook that records its spans, which all have the trace `own`. */
function recordingSpans(trace: TraceContext | undefined = own): {
  readonly spans: Recorded[];
  readonly span: SpanHook;
} {
  const spans: Recorded[] = [];
  const span: SpanHook = (name, kind, attributes, run) => {
    const recorded: Recorded = { name, kind, attributes, outcome: "open" };
    spans.push(recorded);
    const result = run({ trace, set: (more) => (recorded.attributes = { ...recorded.attributes, ...more }) });
    Promise.resolve(result).then(
      () => (recorded.outcome = "ended"),
      () => (recorded.outcome = "failed"),
    );
    return result;
  };
  return { spans, span };
}

const traceLines = (rawHeaders: readonly string[]): string[] =>
  rawHeaders.flatMap((name, at) =>
    at % 2 === 0 && /^trace/i.test(name) ? [`${name}: ${rawHeaders[at + 1]}`] : [],
  );

const ask = (port: number, ...lines: string[]): ReturnType<typeof rawRequest> =>
  rawRequest(port, ["GET /api HTTP/1.1", "Host: x", "Connection: close", ...lines, "", ""].join("\r\n"));

describe("the trace of a proxied request", () => {
  it("GW-1: replaces the client's traceparent with the traceparent of the gateway's own span", async () => {
    await using upstream = await startUpstream();
    const { span } = recordingSpans();
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }], span });
    await ask(server.port, `traceparent: ${callers}`, "tracestate: theirs=1", "tracestate: more=2");
    expect(traceLines(upstream.only().rawHeaders)).to.deep.equal([
      `traceparent: ${own.traceparent}`,
      "tracestate: own=1",
    ]);
  });

  it("GW-1: drops the client's tracestate if the span has none", async () => {
    await using upstream = await startUpstream();
    const { span } = recordingSpans({ ...own, tracestate: undefined });
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }], span });
    await ask(server.port, `traceparent: ${callers}`, "tracestate: theirs=1");
    expect(traceLines(upstream.only().rawHeaders)).to.deep.equal([`traceparent: ${own.traceparent}`]);
  });

  const untouched = [
    [`traceparent: ${callers}`, "tracestate: theirs=1,more=2"],
    ["TraceParent: not-a-trace", "tracestate: ===", "tracestate: second"],
    [`traceparent: ${callers}`, `traceparent: ${callers}`],
    ["tracestate: alone=1"],
  ];
  for (const lines of untouched) {
    it(`GW-2: is the client's, byte for byte, with tracing off: ${lines.join("; ")}`, async () => {
      await using upstream = await startUpstream();
      const routes = [{ prefix: "/api", targets: [upstream.url] }];
      await using server = await startGateway({ routes }, { before: withRequestId("id-1") });
      await ask(server.port, ...lines);
      expect(traceLines(upstream.only().rawHeaders)).to.deep.equal(lines);
    });
  }

  it("GW-2: is the client's if the hook opens no span", async () => {
    await using upstream = await startUpstream();
    const span: SpanHook = (_name, _kind, _attributes, run) =>
      run({ set: () => undefined, trace: undefined });
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }], span });
    await ask(server.port, "traceparent: invalid");
    expect(traceLines(upstream.only().rawHeaders)).to.deep.equal(["traceparent: invalid"]);
  });

  it("GW-1: is sent once if OpenTelemetry's instrumentation of undici adds its own", async () => {
    const api = Symbol.for("opentelemetry.js.api.1");
    const held = globalThis as unknown as Record<symbol, unknown>;
    const before = held[api];
    held[api] ??= {};
    const added = `00-${TRACE}-1111111111111111-01`;
    const instrumentation = (message: unknown): void => {
      const { request } = message as { request: { addHeader(name: string, value: string): void } };
      request.addHeader("traceparent", added);
    };
    channel("undici:request:create").subscribe(instrumentation);
    try {
      await using upstream = await startUpstream();
      const { span } = recordingSpans();
      await using server = await startGateway({
        routes: [{ prefix: "/api", targets: [upstream.url] }],
        span,
      });
      await ask(server.port, `traceparent: ${callers}`);
      expect(traceLines(upstream.only().rawHeaders)).to.deep.equal([`traceparent: ${added}`]);
    } finally {
      channel("undici:request:create").unsubscribe(instrumentation);
      if (before === undefined) delete held[api];
    }
  });
});

describe("the span of a proxied request", () => {
  it("TRACE-10: is a client span with prefix, address and status, and ends with the response", async () => {
    let finish: (() => void) | undefined;
    await using upstream = await startUpstream((_req, res) => {
      res.writeHead(404).flushHeaders();
      finish = () => res.end();
    });
    const { spans, span } = recordingSpans();
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }], span });
    const response = await fetch(`${server.url}/api/secret?token=1`);
    expect(spans).to.deep.equal([
      {
        name: "gateway /api",
        kind: "client",
        attributes: {
          "jfast.gateway.prefix": "/api",
          "server.address": "127.0.0.1",
          "http.response.status_code": 404,
        },
        outcome: "open",
      },
    ]);
    finish?.();
    await response.text();
    await until("the span ends", () => spans[0]?.outcome === "ended");
  });

  it("TRACE-10: is marked as failed, without a status, if no connection can be made", async () => {
    const { spans, span } = recordingSpans();
    await using server = await startGateway({
      routes: [{ prefix: "/api", targets: [await closedOrigin()] }],
      span,
    });
    expect((await fetch(`${server.url}/api`)).status).to.equal(503);
    await until("the span fails", () => spans[0]?.outcome === "failed");
    expect(spans[0]?.attributes).to.not.have.property("http.response.status_code");
  });

  it("TRACE-10: ends when the client disconnects", async () => {
    await using upstream = await startUpstream(() => undefined);
    const { spans, span } = recordingSpans();
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }], span });
    const controller = new AbortController();
    const asked = fetch(`${server.url}/api`, { signal: controller.signal }).catch(() => undefined);
    await until("the request arrives", () => upstream.received.length === 1);
    controller.abort();
    await asked;
    await until("the span ends", () => spans[0]?.outcome === "ended");
  });

  it("TRACE-10: ends if the client disconnects before the hook starts the span, and nothing is sent", async () => {
    await using upstream = await startUpstream();
    const { promise: begin, resolve } = Promise.withResolvers<void>();
    const { spans, span } = recordingSpans();
    let isAsked = false;
    const slow = (async (...args: Parameters<SpanHook>) => {
      isAsked = true;
      await begin;
      return span(...args);
    }) as SpanHook;
    let closed = false;
    const before = (_req: unknown, res: ServerResponse): void => void res.on("close", () => (closed = true));
    await using server = await startGateway(
      { routes: [{ prefix: "/api", targets: [upstream.url] }], span: slow },
      { before },
    );
    const controller = new AbortController();
    const asked = fetch(`${server.url}/api`, { signal: controller.signal }).catch(() => undefined);
    await until("the hook is called", () => isAsked);
    controller.abort();
    await asked;
    await until("the client has disconnected", () => closed);
    resolve();
    await until("the span ends", () => spans[0]?.outcome === "ended");
    expect(upstream.received).to.deep.equal([]);
  });

  it("TRACE-10: exists for a WebSocket, from the request to its response", async () => {
    await using upstream = await startWebSockets(() => undefined);
    const { spans, span } = recordingSpans();
    await using server = await startGateway({ routes: [{ prefix: "/api", targets: [upstream.url] }], span });
    const client = openRaw(server.port, "/api", [...handshake, `traceparent: ${callers}`]);
    await until("the span ends", () => spans[0]?.outcome === "ended");
    expect(spans[0]?.attributes).to.include({ "http.response.status_code": 101 });
    expect(upstream.only().headers.traceparent).to.equal(own.traceparent);
    client.socket.destroy();
  });

  it("does not exist for requests that the gateway refuses or does not handle", async () => {
    const { spans, span } = recordingSpans();
    const routes = [{ prefix: "/api", targets: [await closedOrigin()], requireAuth: true }];
    await using server = await startGateway({ routes, span });
    await fetch(`${server.url}/other`);
    await fetch(`${server.url}/api`);
    expect(spans).to.deep.equal([]);
  });
});
