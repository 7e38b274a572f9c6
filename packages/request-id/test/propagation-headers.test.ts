import { propagation, trace as traces } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { UndiciInstrumentation } from "@opentelemetry/instrumentation-undici";
import { TracerProvider } from "@opentelemetry/sdk-trace";
import { contextOf, openContext, RequestContext, runWithContext } from "@svc/context";
import { propagationHeaders, requestId } from "@svc/request-id";
import { listen, withActiveSpan } from "@svc/test-support";
import { expect } from "chai";
import { servers } from "./support/servers.ts";

const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-fe";

for (const [name, serve] of Object.entries(servers)) {
  describe(`propagationHeaders on ${name}`, () => {
    it("COR-5 COR-13 COR-15 carries the caller's id and trace to the next service unchanged", async () => {
      await using next = await listen((req, res) => {
        const { authorization, cookie, traceparent, tracestate } = req.headers;
        const tenant = req.headers["x-tenant-id"];
        res.end(
          JSON.stringify({
            id: req.headers["x-request-id"],
            traceparent,
            tracestate,
            authorization,
            cookie,
            tenant,
          }),
        );
      });
      await using server = await listen(
        serve([requestId()], (req, res) => {
          openContext(req).tenantId = "acme";
          void fetch(next.url, { headers: propagationHeaders() })
            .then(async (answer) => answer.text())
            .then((text) => res.end(text));
        }),
      );
      const answer = await fetch(server.url, {
        headers: {
          "X-Request-ID": "r-1",
          traceparent: TRACEPARENT,
          tracestate: "congo=t61 , rojo=1",
          authorization: "Bearer secret",
          cookie: "a=b",
          "X-Tenant-ID": "acme",
        },
      });
      expect(await answer.json()).to.eql({
        id: "r-1",
        traceparent: TRACEPARENT,
        tracestate: "congo=t61 , rojo=1",
      });
    });

    it("COR-5 returns the id from the argument contextOf(req) where the current context is lost", async () => {
      await using server = await listen(
        serve([requestId()], (req, res) => {
          req.resume().on("end", () => res.end(JSON.stringify(propagationHeaders(contextOf(req)))));
        }),
      );
      const answer = await fetch(server.url, {
        method: "POST",
        body: "x",
        headers: { "X-Request-ID": "r-2" },
      });
      expect(await answer.json()).to.eql({ "X-Request-ID": "r-2" });
    });
  });
}

describe("propagationHeaders with OpenTelemetry", () => {
  const ACTIVE = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
  const CALLER = { traceId: TRACEPARENT.slice(3, 35), traceparent: TRACEPARENT, tracestate: "a=1" };

  it("COR-13 returns the trace of the active span instead of the caller's, even without a context", async () => {
    const context = new RequestContext({ requestId: "r-1", trace: CALLER });
    const [outside, inside] = await withActiveSpan(ACTIVE, () => [
      propagationHeaders(),
      runWithContext(context, () => propagationHeaders()),
    ]);
    expect(outside).to.eql({ traceparent: ACTIVE });
    expect(inside).to.eql({ "X-Request-ID": "r-1", traceparent: ACTIVE });
  });

  it("COR-13 returns the trace of the context's own open span instead of the active one", async () => {
    const context = new RequestContext();
    context.openSpan(CALLER);
    const headers = await withActiveSpan(ACTIVE, () => propagationHeaders(context));
    expect(headers).to.eql({ traceparent: TRACEPARENT, tracestate: "a=1" });
  });

  describe("with the instrumentation of fetch", () => {
    const instrumentation = new UndiciInstrumentation();
    beforeEach(() => {
      propagation.setGlobalPropagator(new W3CTraceContextPropagator());
      traces.setGlobalTracerProvider(new TracerProvider());
      instrumentation.setTracerProvider(traces.getTracerProvider());
    });
    afterEach(() => {
      instrumentation.disable();
      propagation.disable();
      traces.disable();
    });

    /** Fetches with these headers in the active span; returns the trace headers that arrived. */
    async function arriving(headers: () => Record<string, string>): Promise<string[][]> {
      const { promise, resolve } = Promise.withResolvers<string[]>();
      await using next = await listen((req, res) => {
        resolve(req.rawHeaders);
        res.end();
      });
      await withActiveSpan(ACTIVE, async () => (await fetch(next.url, { headers: headers() })).text());
      const raw = await promise;
      const pairs = raw.flatMap((name, at) =>
        at % 2 === 0 ? [[name.toLowerCase(), raw[at + 1] ?? ""]] : [],
      );
      return pairs.filter(([name]) => name?.startsWith("trace"));
    }

    it("COR-10 COR-13 sends one traceparent, that of the client span, and no other tracestate", async () => {
      instrumentation.enable();
      const context = new RequestContext();
      context.openSpan(CALLER);
      const sent = await arriving(() => ({
        accept: "text/plain",
        ...propagationHeaders(context),
        TraceState: "b=2",
      }));
      expect(sent.map(([name]) => name)).to.eql(["traceparent"]);
      expect(sent[0]?.[1]).to.match(
        new RegExp(`^00-${ACTIVE.slice(3, 35)}-(?!00f067aa0ba902b7)[0-9a-f]{16}-01$`),
      );
    });

    it("COR-10 sends one traceparent if the instrumentation was enabled after the first call", async () => {
      const before = await arriving(() => propagationHeaders());
      expect(before).to.eql([["traceparent", ACTIVE]]);
      instrumentation.enable();
      expect(await arriving(() => propagationHeaders())).to.have.length(1);
    });

    it("leaves the headers unchanged when the instrumentation adds none", async () => {
      instrumentation.enable();
      instrumentation.setConfig({ ignoreRequestHook: () => true });
      const headers = { traceparent: TRACEPARENT, tracestate: "a=1" };
      expect(await arriving(() => ({ ...propagationHeaders(), ...headers }))).to.eql(Object.entries(headers));
      instrumentation.setConfig({});
    });
  });
});

describe("propagationHeaders", () => {
  it("returns {} without a context, instead of minting an id", () => {
    expect(propagationHeaders()).to.eql({});
    expect(propagationHeaders(new RequestContext())).to.eql({});
  });

  it("COR-5 returns only the id, or only the trace, when the context contains nothing else", () => {
    expect(propagationHeaders(new RequestContext({ requestId: "job-1" }))).to.eql({
      "X-Request-ID": "job-1",
    });
    const trace = { traceId: "x", traceparent: TRACEPARENT, tracestate: undefined };
    expect(propagationHeaders(new RequestContext({ trace }))).to.eql({ traceparent: TRACEPARENT });
  });

  it("COR-5 returns the id from the context of a job", () => {
    const context = new RequestContext({ requestId: "job-2", tenantId: "acme" });
    expect(runWithContext(context, () => propagationHeaders())).to.eql({ "X-Request-ID": "job-2" });
  });

  it("returns a new object on each call, which the caller may change", () => {
    const context = new RequestContext({ requestId: "r" });
    const headers = propagationHeaders(context);
    headers["accept"] = "text/plain";
    expect(propagationHeaders(context)).to.eql({ "X-Request-ID": "r" });
  });
});
