import { AsyncLocalStorage } from "node:async_hooks";
import { trace } from "@opentelemetry/api";
import { type CheckResult, contextOf, currentTrace } from "@svc/context";
import { forbidden, notFound, problemHandler } from "@svc/problem";
import { propagationHeaders, requestId } from "@svc/request-id";
import { telemetry, type TelemetryMiddleware } from "@svc/telemetry";
import { expressMajors, listen, until } from "@svc/test-support";
import { expect } from "chai";
import connect from "connect";
import type { RequestListener } from "node:http";

const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";
const TRACEPARENT = `00-${TRACE_ID}-${CALLER}-01`;

/** Returns a `telemetry()` middleware that keeps its spans in memory, once it is ready. */
async function traced(options: Partial<Parameters<typeof telemetry>[0]> = {}): Promise<TelemetryMiddleware> {
  const tracing = telemetry({
    service: "orders",
    version: "1.2.3",
    env: "dev",
    exporter: "memory",
    ...options,
  });
  await tracing.ready;
  return tracing;
}

/** Sends requests in sequence, and returns the spans of all of them. */
async function spansOf(
  tracing: TelemetryMiddleware,
  listener: RequestListener,
  ...requests: readonly (readonly [path: string, init?: RequestInit])[]
) {
  await using server = await listen(listener);
  for (const [index, [path, init]] of requests.entries()) {
    await (await fetch(server.url + path, init)).text();
    await until("the span", () => tracing.spans().length > index);
  }
  return tracing.spans();
}

for (const [name, express] of Object.entries(expressMajors)) {
  describe(`telemetry() on ${name}`, () => {
    let tracing: TelemetryMiddleware;
    beforeEach(async () => (tracing = await traced()));
    afterEach(() => tracing.stop());

    const silent = () => express().set("env", "test").use(requestId(), tracing);

    it("TRACE-7 TRACE-14 TRACE-22 creates one server span, named by method and route template", async () => {
      const app = silent();
      app.get("/orders/:id", (req, res) => {
        const context = contextOf(req);
        if (context !== undefined) context.tenantId = "acme";
        res.json({});
      });
      const [span, ...others] = await spansOf(tracing, app, [
        "/orders/7?token=secret",
        { headers: { "x-request-id": "r-1" } },
      ]);
      expect(others).to.deep.equal([]);
      expect(span).to.deep.include({
        name: "GET /orders/:id",
        kind: "server",
        status: "unset",
        parentSpanId: undefined,
        events: [],
        attributes: {
          "http.request.method": "GET",
          "http.route": "/orders/:id",
          "http.response.status_code": 200,
          "jfast.tenant_id": "acme",
          "jfast.request_id": "r-1",
        },
        resource: {
          "service.name": "orders",
          "service.version": "1.2.3",
          "deployment.environment.name": "dev",
        },
      });
    });

    it("TRACE-15 names an unmatched request by its method alone, never by its path", async () => {
      const app = silent().use(notFound(), problemHandler());
      const [span] = await spansOf(tracing, app, ["/secret/path?q=secret", { method: "DELETE" }]);
      expect(span).to.include({ name: "DELETE", status: "unset" });
      expect(span?.attributes).to.include({ "http.response.status_code": 404 });
      expect(JSON.stringify(span)).not.to.contain("secret");
    });

    it("TRACE-7 names spans by the full routes of mounted routers, routers mounted twice and sub-applications", async () => {
      const items = express.Router().get("/items/:id", (_req, res) => void res.end());
      const sub = express().get("/status", (_req, res) => void res.end());
      const app = silent().use("/t/:tenant", items).use("/a", items).use("/b", items).use("/sub", sub);
      const spans = await spansOf(
        tracing,
        app,
        ...["/t/acme/items/1", "/a/items/1", "/b/items/1", "/sub/status"].map((path) => [path] as const),
      );
      expect(spans.map((span) => span.name)).to.deep.equal([
        "GET /t/:tenant/items/:id",
        "GET /a/items/:id",
        "GET /b/items/:id",
        "GET /sub/status",
      ]);
    });

    it("TRACE-17 records the exception of a 500 with type, message and stack", async () => {
      const app = silent().get("/boom/:id", () => {
        throw new RangeError("too far");
      });
      app.use(problemHandler());
      const [span] = await spansOf(tracing, app, ["/boom/1"]);
      expect(span).to.include({ name: "GET /boom/:id", status: "error" });
      expect(span?.events).to.have.lengthOf(1);
      const { name: event, attributes } = span?.events[0] ?? { name: "", attributes: {} };
      expect(event).to.equal("exception");
      expect(attributes).to.include({ "exception.type": "RangeError", "exception.message": "too far" });
      expect(attributes["exception.stacktrace"]).to.match(/^RangeError: too far\n {4}at /);
    });

    it("TRACE-17 TRACE-15 records an error of PostgreSQL without its message, which quotes values", async () => {
      const app = silent().get("/boom", () => {
        const error = new Error('invalid input syntax for type integer: "secret\n    at secret"');
        throw Object.assign(error, { name: "DatabaseError", code: "22P02" });
      });
      app.use(problemHandler());
      const [span] = await spansOf(tracing, app, ["/boom"]);
      const { attributes = {} } = span?.events[0] ?? {};
      expect(attributes).to.include({ "exception.type": "DatabaseError", "error.type": "22P02" });
      expect(attributes["exception.stacktrace"]).to.match(/^ {4}at .*requests\.test/);
      expect(JSON.stringify(span)).not.to.contain("secret");
    });

    it("TRACE-17 records no exception for a request that is rejected with 403", async () => {
      const app = silent().get("/refused", () => {
        throw forbidden("no");
      });
      app.use(problemHandler());
      const [span] = await spansOf(tracing, app, ["/refused"]);
      expect(span).to.deep.include({ status: "unset", events: [] });
    });

    it("TRACE-18 COR-14 continues the caller's trace, and propagates its own span", async () => {
      const app = silent().get("/relay", (_req, res) => void res.json(propagationHeaders()));
      await using server = await listen(app);
      const headers = { traceparent: TRACEPARENT, tracestate: "b=2,a=1,b=3" };
      const sent = (await (await fetch(`${server.url}/relay`, { headers })).json()) as Record<string, string>;
      await until("the span", () => tracing.spans().length === 1);
      const [span] = tracing.spans();
      expect(span).to.include({ traceId: TRACE_ID, parentSpanId: CALLER });
      expect(sent).to.include({
        traceparent: `00-${TRACE_ID}-${span?.spanId}-01`,
        tracestate: "b=2,a=1,b=3",
      });
    });

    it("COR-7 starts a new trace behind requestId({ trustIncoming: false })", async () => {
      const app = express().use(requestId({ trustIncoming: false }), tracing);
      app.get("/", (_req, res) => void res.end());
      const [span] = await spansOf(tracing, app, ["/", { headers: { traceparent: TRACEPARENT } }]);
      expect(span?.parentSpanId).to.equal(undefined);
      expect(span?.traceId).not.to.equal(TRACE_ID);
    });

    it("COR-15 propagates the caller's trace unchanged for an excluded path", async () => {
      const app = silent().get("/health", (_req, res) => void res.json(propagationHeaders()));
      await using server = await listen(app);
      const headers = { traceparent: TRACEPARENT, tracestate: "a=1" };
      const sent = await (await fetch(`${server.url}/health`, { headers })).json();
      expect(sent).to.include(headers);
      expect(tracing.spans()).to.deep.equal([]);
    });

    it("TRACE-7 ends the span of an aborted request without a status", async () => {
      const aborting = new AbortController();
      const app = silent().get("/slow", () => aborting.abort());
      await using server = await listen(app);
      await fetch(`${server.url}/slow`, { signal: aborting.signal }).catch(() => undefined);
      await until("the span", () => tracing.spans().length === 1);
      expect(tracing.spans()[0]).to.deep.include({
        name: "GET /slow",
        attributes: {
          "http.request.method": "GET",
          "http.route": "/slow",
          "jfast.request_id": tracing.spans()[0]?.attributes["jfast.request_id"],
        },
      });
    });

    it("TRACE-22 creates one span when it is mounted twice", async () => {
      const app = silent()
        .use(tracing)
        .get("/", (_req, res) => void res.end());
      expect(await spansOf(tracing, app, ["/"])).to.have.lengthOf(1);
    });
  });
}

describe("telemetry() around other code", () => {
  let tracing: TelemetryMiddleware;
  beforeEach(async () => (tracing = await traced()));
  afterEach(() => tracing.stop());

  const namesOf = () => tracing.spans().map(({ name }) => name);

  it("TRACE-18 starts a new trace for a request to a server that was started inside a span", async () => {
    await using server = await tracing.span("start", "server", {}, () =>
      listen((req, res) => tracing(req, res, () => void res.end())),
    );
    for (let count = 2; count <= 3; count++) {
      await (await fetch(server.url)).text();
      await until("the span", () => tracing.spans().length === count);
    }
    expect(namesOf()).to.deep.equal(["start", "GET", "GET"]);
    expect(new Set(tracing.spans().map(({ traceId }) => traceId)).size).to.equal(3);
    expect(tracing.spans().map(({ parentSpanId }) => parentSpanId)).to.deep.equal([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("TRACE-22 creates one span when it runs twice and the async context was lost in between", async () => {
    const elsewhere = AsyncLocalStorage.snapshot();
    const [span, ...others] = await spansOf(
      tracing,
      (req, res) => tracing(req, res, () => elsewhere(() => tracing(req, res, () => void res.end()))),
      ["/"],
    );
    expect(others).to.deep.equal([]);
    expect(span).to.include({ name: "GET", parentSpanId: undefined });
  });

  it("TRACE-15 TRACE-26 drops unknown attributes and SQL error messages that the application adds to a span", async () => {
    const add = (): void => {
      const span = trace.getActiveSpan();
      span?.setAttribute("user.email", "secret");
      span?.recordException(Object.assign(new Error('syntax for type integer: "secret"'), { code: "22P02" }));
    };
    await spansOf(tracing, (req, res) => tracing(req, res, () => (add(), res.end())), ["/"]);
    tracing.span("x".repeat(1000), "internal", {}, add);
    expect(tracing.spans()).to.have.lengthOf(2);
    expect(JSON.stringify(tracing.spans())).not.to.contain("secret");
    expect(tracing.spans()[1]?.name).to.have.lengthOf(256);
    const { meta } = (await tracing.readiness().check(AbortSignal.timeout(1000))) as CheckResult;
    expect(meta).to.include({ attributes_dropped: 2 });
  });

  it("TRACE-21 ends the span of an operation whose result cannot be read", () => {
    const error = new Error("a bug");
    const result = new Proxy(
      {},
      {
        get() {
          throw error;
        },
      },
    );
    expect(() => tracing.span("work", "internal", {}, () => result)).to.throw(error);
    expect(tracing.spans()[0]).to.include({ name: "work", status: "error" });
  });
});

describe("telemetry() on other servers", () => {
  let tracing: TelemetryMiddleware;
  beforeEach(async () => (tracing = await traced()));
  afterEach(() => tracing.stop());

  it("TRACE-7 traces requests of a bare server, without any other package", async () => {
    let inside;
    const [span] = await spansOf(
      tracing,
      (req, res) => {
        tracing(req, res, () => {
          inside = currentTrace()?.traceId;
          res.end();
        });
      },
      ["/"],
    );
    expect(span).to.deep.include({
      name: "GET",
      attributes: { "http.request.method": "GET", "http.response.status_code": 200 },
    });
    expect(inside).to.equal(span?.traceId);
  });

  it("TRACE-7 traces requests of Connect", async () => {
    const app = connect()
      .use(tracing)
      .use((_req, res) => res.end());
    expect((await spansOf(tracing, app, ["/"]))[0]).to.include({ name: "GET" });
  });
});
