import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import {
  context as otel,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  trace as traces,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import { suppressTracing, TraceState } from "@opentelemetry/core";
import { TracerProvider } from "@opentelemetry/sdk-trace";
import {
  activeSpanTrace,
  contextOf,
  currentTrace,
  enterContext,
  hasOpenTelemetry,
  openContext,
  RequestContext,
  runWithContext,
  type TraceContext,
} from "@svc/context";
import { listen } from "@svc/test-support";
import { expect } from "chai";

const API = Symbol.for("opentelemetry.js.api.1");
const TRACE_ID = "0af7651916cd43dd8448eb211c80319c";
const SPAN_ID = "00f067aa0ba902b7";
const SPAN: SpanContext = { traceId: TRACE_ID, spanId: SPAN_ID, traceFlags: 1 };
const CALLER = traceWith("b7ad6b7169203331");
const OWN = traceWith("53995c3f42cd8ad8");

function traceWith(spanId: string): TraceContext {
  return { traceId: TRACE_ID, traceparent: `00-${TRACE_ID}-${spanId}-01`, tracestate: undefined };
}

/** Sets OpenTelemetry's global to a value, until the returned function is called. */
function replaceGlobal(value: unknown): () => void {
  const holder = globalThis as { [API]?: unknown };
  const before = Object.getOwnPropertyDescriptor(globalThis, API);
  if (value === undefined) delete holder[API];
  else holder[API] = value;
  return () => {
    delete holder[API];
    if (before !== undefined) Object.defineProperty(globalThis, API, before);
  };
}

/** Runs a function while a span of this context is active. */
function inActive<T>(span: Partial<Record<keyof SpanContext, unknown>>, fn: () => T): T {
  return otel.with(traces.setSpanContext(otel.active(), span as never), fn);
}

describe("currentTrace without OpenTelemetry", () => {
  let restore: () => void;
  before(() => (restore = replaceGlobal(undefined)));
  after(() => restore());

  it("returns the trace of the context, and undefined without one", () => {
    expect(hasOpenTelemetry()).to.equal(false);
    expect(activeSpanTrace()).to.equal(undefined);
    expect(currentTrace()).to.equal(undefined);
    const context = new RequestContext({ trace: CALLER });
    expect(currentTrace(context)).to.equal(CALLER);
    expect(runWithContext(context, () => currentTrace())).to.equal(CALLER);
    context.openSpan(OWN);
    expect(currentTrace(context)).to.eql(OWN);
  });
});

describe("currentTrace with OpenTelemetry", () => {
  const manager = new AsyncLocalStorageContextManager();
  const tracer = new TracerProvider().getTracer("test");
  before(() => {
    otel.setGlobalContextManager(manager.enable());
  });
  after(() => {
    otel.disable();
    manager.disable();
  });

  it("COR-12 COR-13 returns the trace of the active span of the SDK", () => {
    tracer.startActiveSpan("a", (span) => {
      const { traceId, spanId } = span.spanContext();
      const expected = { traceId, traceparent: `00-${traceId}-${spanId}-01`, tracestate: undefined };
      expect(hasOpenTelemetry()).to.equal(true);
      expect(activeSpanTrace()).to.eql(expected);
      expect(currentTrace()).to.eql(expected);
      span.end();
    });
    expect(activeSpanTrace()).to.equal(undefined);
  });

  it("prefers the service's open span to the active span, and the active span to the caller's", () => {
    const context = new RequestContext({ trace: CALLER });
    const seen = runWithContext(context, () => {
      const before = currentTrace();
      return inActive(SPAN, () => {
        const active = currentTrace();
        const end = context.openSpan(OWN);
        const own = currentTrace();
        end();
        return [before, active, own, currentTrace()];
      });
    });
    expect(seen).to.eql([CALLER, traceWith(SPAN_ID), OWN, traceWith(SPAN_ID)]);
  });

  it("COR-15 returns the caller's trace where tracing is suppressed or the active span is invalid", () => {
    const context = new RequestContext({ trace: CALLER });
    const seen = runWithContext(context, () => [
      currentTrace(),
      otel.with(suppressTracing(ROOT_CONTEXT), () => tracer.startActiveSpan("a", () => currentTrace())),
      inActive({ ...SPAN, traceId: "0".repeat(32) }, () => currentTrace()),
    ]);
    expect(seen).to.eql([CALLER, CALLER, CALLER]);
  });

  it("returns the flags and the tracestate of the span", () => {
    const traceState = new TraceState("a=1,b=2");
    for (const [traceFlags, flags] of [
      [0, "00"],
      [1, "01"],
      [3, "03"],
      [255, "ff"],
    ] as const) {
      expect(inActive({ ...SPAN, traceFlags, traceState }, () => activeSpanTrace())).to.eql({
        traceId: TRACE_ID,
        traceparent: `00-${TRACE_ID}-${SPAN_ID}-${flags}`,
        tracestate: "a=1,b=2",
      });
    }
  });

  for (const [what, fields] of Object.entries({
    "a trace id of zeros": { traceId: "0".repeat(32) },
    "a span id of zeros": { spanId: "0".repeat(16) },
    "an upper-case trace id": { traceId: TRACE_ID.toUpperCase() },
    "a short trace id": { traceId: TRACE_ID.slice(1) },
    "a trace id with a line break": { traceId: `${TRACE_ID.slice(1)}\n` },
    "no trace id": { traceId: undefined },
    "a symbol as trace id": { traceId: Symbol("id") },
    "no flags": { traceFlags: undefined },
    "negative flags": { traceFlags: -1 },
    "fractional flags": { traceFlags: 1.5 },
    "flags of nine bits": { traceFlags: 256 },
    "a tracestate that throws": {
      traceState: {
        serialize() {
          throw new Error("a fault of the tracestate");
        },
      },
    },
  })) {
    it(`COR-10 returns undefined for an active span with ${what}`, () => {
      expect(inActive({ ...SPAN, ...fields }, () => activeSpanTrace())).to.equal(undefined);
    });
  }

  it("COR-9 drops only an invalid tracestate", () => {
    const traceState = { serialize: () => "A=1" };
    expect(inActive({ ...SPAN, traceState }, () => activeSpanTrace())).to.eql(traceWith(SPAN_ID));
  });

  describe("during a request", () => {
    /** Serves one request inside a span, and returns what `handle` passes to `done`. */
    async function serve<T>(
      handle: (req: IncomingMessage, res: ServerResponse, done: (value: T) => void) => void,
    ): Promise<T> {
      const { promise, resolve } = Promise.withResolvers<T>();
      await using server = await listen(
        createServer((req, res) => {
          openContext(req).trace = CALLER;
          inActive(SPAN, () => enterContext(req, res, () => handle(req, res, resolve)));
        }),
      );
      await (await fetch(server.url, { method: "POST", body: "x" })).text();
      return await promise;
    }

    it("returns the request's span where the span and the context are lost, if it receives the context", async () => {
      const seen = await serve<unknown>((req, res, done) => {
        const context = contextOf(req);
        req.resume().on("end", () => {
          manager.with(ROOT_CONTEXT, () => done(currentTrace(context)));
          res.end();
        });
      });
      expect(seen).to.eql(traceWith(SPAN_ID));
    });

    it("returns the request's span in code that runs for another request, if it receives the context", async () => {
      const seen = await serve<unknown>((req, res, done) => {
        const context = contextOf(req);
        const other = { ...SPAN, traceId: "1".repeat(32) };
        runWithContext(new RequestContext(), () => inActive(other, () => done(currentTrace(context))));
        res.end();
      });
      expect(seen).to.eql(traceWith(SPAN_ID));
    });

    it("returns the innermost active span inside the request", async () => {
      const seen = await serve<unknown>((_req, res, done) => {
        inActive({ ...SPAN, spanId: "53995c3f42cd8ad8" }, () => done(currentTrace()));
        res.end();
      });
      expect(seen).to.eql(OWN);
    });
  });
});

describe("activeSpanTrace with other values of OpenTelemetry's global", () => {
  const span = { spanContext: () => SPAN } as Span;
  const fail = (): never => {
    throw new Error("a fault of the context manager");
  };

  for (const [what, api, expected] of [
    [
      "a context manager of any version 1",
      { context: { active: () => ({ getValue: () => span }) } },
      traceWith(SPAN_ID),
    ],
    ["no context manager", { version: "1.10.0" }, undefined],
    ["a context manager that throws", { context: { active: fail } }, undefined],
    ["a context manager without an active context", { context: { active: () => undefined } }, undefined],
    ["a span without a context", { context: { active: () => ({ getValue: () => ({}) }) } }, undefined],
    ["null as the span", { context: { active: () => ({ getValue: () => null }) } }, undefined],
    ["null as the global", null, undefined],
    ["a number as the global", 7, undefined],
  ] as const) {
    it(`returns ${expected === undefined ? "undefined" : "the active span"} for ${what}`, () => {
      const restore = replaceGlobal(api);
      try {
        expect(activeSpanTrace()).to.eql(expected);
      } finally {
        restore();
      }
    });
  }
});
