import * as api from "@opentelemetry/api";
import { type ReadableSpan, TracerProvider } from "@opentelemetry/sdk-trace";
import { expect } from "chai";
import { createFailures } from "../src/failures.ts";
import { recordedSpan } from "../src/local-exporters.ts";
import type { RecordedSpan } from "../src/recorded-span.ts";
import { scrubForeignSpans } from "../src/scrub.ts";

const HTTP = "@opentelemetry/instrumentation-http";
const PG = "@opentelemetry/instrumentation-pg";
const CLIENT = { kind: api.SpanKind.CLIENT };
const SERVER = { kind: api.SpanKind.SERVER };

interface Scrubbed extends RecordedSpan {
  readonly raw: ReadableSpan;
  /** Number of exported spans. */
  readonly exported: number;
  readonly attributesDropped: number;
  readonly failures: number;
}

/** Creates a span with the SDK, and returns what is exported of it. */
function scrubbed(
  scope: string,
  name: string,
  options: api.SpanOptions,
  act: (span: api.Span) => void = () => undefined,
  recordStatement = false,
): Scrubbed {
  const ended: ReadableSpan[] = [];
  let attributesDropped = 0;
  const failures = createFailures({ logger: undefined, now: () => 0 });
  const output = {
    onStart: () => undefined,
    onEnd: (span: ReadableSpan) => void ended.push(span),
    forceFlush: () => Promise.resolve(),
    shutdown: () => Promise.resolve(),
  };
  const onDropped = (count: number): void => void (attributesDropped += count);
  const processor = scrubForeignSpans(output, { recordStatement, failures, onDropped });
  const span = new TracerProvider({ spanProcessors: [processor] })
    .getTracer(scope)
    .startSpan(name, options, api.ROOT_CONTEXT);
  act(span);
  span.end();
  const [raw = span as unknown as ReadableSpan] = ended;
  return { ...recordedSpan(raw), raw, exported: ended.length, attributesDropped, failures: failures.count };
}

describe("scrubForeignSpans()", () => {
  it("TRACE-15 names a stock HTTP server span by method and route, and drops attributes that the client sent", () => {
    const span = scrubbed(HTTP, "GET /secret/7", {
      ...SERVER,
      attributes: {
        "http.request.method": "GET",
        "http.route": "/orders/:id",
        "http.response.status_code": 200,
        "url.path": "/secret/7",
        "url.query": "token=secret",
        "user_agent.original": "secret",
        "client.address": "10.0.0.1",
        "server.address": "secret.example",
      },
    });
    expect(span).to.deep.include({
      name: "GET /orders/:id",
      attributes: {
        "http.request.method": "GET",
        "http.route": "/orders/:id",
        "http.response.status_code": 200,
      },
      attributesDropped: 5,
    });
    expect(span.raw.droppedAttributesCount).to.equal(5);
  });

  it("TRACE-15 names a stock HTTP client span by its method", () => {
    const attributes = { "http.method": "POST", "http.url": "http://db/secret", "net.peer.name": "db" };
    expect(scrubbed(HTTP, "POST /secret", { ...CLIENT, attributes })).to.deep.include({
      name: "POST",
      attributes: { "http.request.method": "POST", "server.address": "db" },
    });
  });

  it("TRACE-8 TRACE-16 renames the attributes of a stock pg span as the contract specifies, and drops its SQL text", () => {
    const attributes = {
      "db.system.name": "postgresql",
      "db.namespace": "shop",
      "db.query.text": "select * from orders where id='secret'",
      "db.postgresql.plan": "secret",
      "server.address": "db",
      "server.port": 5432,
    };
    const span = scrubbed(PG, "pg.query:SELECT shop", { ...CLIENT, attributes });
    expect(span).to.deep.include({
      name: "SELECT orders",
      attributes: {
        "db.system": "postgresql",
        "db.name": "shop",
        "server.address": "db",
        "db.operation": "SELECT",
        "db.sql.table": "orders",
      },
      attributesDropped: 3,
    });
  });

  it("TRACE-16 records the SQL text with ? for literals if recording statements is enabled", () => {
    const attributes = { "db.system": "postgresql", "db.statement": "delete from orders where id='secret'" };
    const span = scrubbed(PG, "pg.query:DELETE", { ...CLIENT, attributes }, undefined, true);
    expect(span.attributes["db.statement"]).to.equal("delete from orders where id=?");
  });

  it("TRACE-15 drops db.statement of the former conventions, although that attribute name is allowed", () => {
    const attributes = { "db.system": "mysql", "db.statement": 'select "secret" from t' };
    const span = scrubbed("@opentelemetry/instrumentation-mysql", 'SELECT"secret"', {
      ...CLIENT,
      attributes,
    });
    expect(span).to.deep.include({
      name: "SELECT",
      attributes: { "db.system": "mysql", "db.operation": "SELECT" },
    });
  });

  it("TRACE-15 drops an operation of more than one word", () => {
    const attributes = { "db.system.name": "mysql", "db.operation.name": "SELECT'secret'" };
    expect(scrubbed("@opentelemetry/instrumentation-mysql", "q", { attributes }).attributes).to.deep.equal({
      "db.system": "mysql",
    });
  });

  it("TRACE-17 records a failed statement with its SQLSTATE, without messages", () => {
    const text = "PostgreSQL error of type 'error' occurred (code: 22P02)";
    const attributes = { "db.system.name": "postgresql", "db.query.text": "select 'secret'::int" };
    const span = scrubbed(PG, "pg.query:SELECT", { ...CLIENT, attributes }, (open) => {
      open.recordException(text);
      open.setStatus({ code: api.SpanStatusCode.ERROR, message: 'invalid input: "secret"' });
    });
    expect(span).to.deep.include({ name: "SELECT", status: "error" });
    expect(span.raw.status).to.deep.equal({ code: api.SpanStatusCode.ERROR });
    expect(span.attributes["error.type"]).to.equal("22P02");
    expect(span.events).to.deep.equal([
      { name: "exception", attributes: { "exception.type": "Error", "error.type": "22P02" } },
    ]);
  });

  it("TRACE-15 TRACE-26 keeps the truncated name and the known attributes of an application's span", () => {
    const attributes = { "rag.hits": 3, color: "secret", "llm.model": "m".repeat(300), "rag.limit": [1] };
    const span = scrubbed("app", "n".repeat(300), { attributes });
    expect(span.name).to.equal("n".repeat(256));
    expect(span.attributes).to.deep.equal({ "rag.hits": 3, "llm.model": "m".repeat(256) });
    expect(span.attributesDropped).to.equal(2);
  });

  it("TRACE-15 replaces a span name that repeats a path or a statement, in any instrumentation scope", () => {
    const http = { attributes: { "http.request.method": "GET", "url.path": "/secret" } };
    expect(scrubbed("app", "GET /secret", http).name).to.equal("GET");
    const sql = { attributes: { "db.system.name": "postgresql", "db.query.text": "select 'secret'" } };
    expect(scrubbed("orm", "select 'secret'", sql).name).to.equal("SELECT");
    expect(scrubbed("app", "to /secret", { attributes: { "url.path": "/secret" } }).name).to.equal("app");
  });

  it("TRACE-15 drops attributes of links and unknown attributes of events", () => {
    const context = { traceId: "1".repeat(32), spanId: "2".repeat(16), traceFlags: 1 };
    const span = scrubbed("app", "work", { links: [{ context, attributes: { a: "secret" } }] }, (open) =>
      open.addEvent("hit", { "rag.hits": 1, key: "secret" }),
    );
    expect(span.raw.links).to.deep.equal([{ context }]);
    expect(span.events).to.deep.equal([{ name: "hit", attributes: { "rag.hits": 1 } }]);
    expect(span.attributesDropped).to.equal(2);
  });

  it("TRACE-17 records an exception of the application with type, message and stack", () => {
    const [event] = scrubbed("app", "work", {}, (open) =>
      open.recordException(new RangeError("m".repeat(300))),
    ).events;
    expect(event?.attributes).to.include({
      "exception.type": "RangeError",
      "exception.message": "m".repeat(256),
    });
    expect(event?.attributes["exception.stacktrace"]).to.match(/^RangeError: m+\n {4}at /);
  });

  for (const [title, record] of Object.entries<(span: api.Span, error: Error) => void>({
    "recordException()": (span, error) => span.recordException(error),
    "an event": (span, { message, stack = "" }) =>
      void span.addEvent("exception", {
        "exception.type": "23505",
        "exception.message": message,
        "exception.stacktrace": stack,
      }),
  })) {
    it(`TRACE-15 TRACE-17 drops the message of an error with an SQLSTATE, recorded by ${title}`, () => {
      const error = Object.assign(new Error("(email)=(secret)\n    at secret"), { code: "23505" });
      const { events, attributes } = scrubbed("app", "work", {}, (open) => record(open, error));
      expect(JSON.stringify(events)).not.to.contain("secret");
      expect(events[0]?.attributes).to.include({ "error.type": "23505" });
      expect(events[0]?.attributes["exception.stacktrace"]).to.match(/^ {4}at .*scrub\.test/);
      expect(attributes).to.deep.equal({ "error.type": "23505" });
    });
  }

  for (const scope of ["app", "@svc/telemetry"]) {
    it(`TRACE-15 drops the message of an error that repeats that of its cause with an SQLSTATE, in scope ${scope}`, () => {
      const cause = Object.assign(new Error("(email)=(secret)"), { code: "23505" });
      const error = new Error(`cannot save: ${cause.message}`, { cause });
      const { events } = scrubbed(scope, "work", {}, (open) => open.recordException(error));
      expect(events).to.have.lengthOf(1);
      expect(JSON.stringify(events)).not.to.contain("secret");
    });
  }

  it("leaves a span of this package unchanged", () => {
    const attributes = { "jfast.tenant_id": "acme" };
    let made: api.Span | undefined;
    const { raw } = scrubbed("@svc/telemetry", "GET /", { attributes }, (open) => (made = open));
    expect(raw).to.equal(made);
  });

  it("TRACE-15 drops what the application adds to a span of this package: the message of its status", () => {
    const { raw } = scrubbed("@svc/telemetry", "GET /", {}, (open) =>
      open.setStatus({ code: api.SpanStatusCode.ERROR, message: "secret" }),
    );
    expect(raw.status).to.deep.equal({ code: api.SpanStatusCode.ERROR });
  });

  it("TRACE-15 drops what the application adds to a span of this package: the attributes of a link", () => {
    const context = { traceId: "1".repeat(32), spanId: "2".repeat(16), traceFlags: 1 };
    const { raw, attributesDropped } = scrubbed("@svc/telemetry", "GET /", {}, (open) =>
      open.addLink({ context, attributes: { "user.email": "secret" } }),
    );
    expect(raw.links).to.deep.equal([{ context }]);
    expect(attributesDropped).to.equal(1);
  });

  it("TRACE-21 drops a span that cannot be read, and does not fail the application", () => {
    const span = scrubbed("app", "secret", {}, (open) =>
      Object.defineProperty(open, "links", {
        get: () => {
          throw new Error("no");
        },
      }),
    );
    expect(span).to.include({ exported: 0, failures: 1 });
  });
});
