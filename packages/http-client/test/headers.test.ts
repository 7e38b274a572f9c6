import { openContext, type OpenSpan, RequestContext, runWithContext, type SpanHook } from "@svc/context";
import { createClient, instrumentFetch } from "@svc/http-client";
import { listen, rejection } from "@svc/test-support";
import { expect } from "chai";
import { openUpstream, type Upstream } from "./support/upstream.ts";

const CALLER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const OWN = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01";
const trace = { traceId: CALLER.slice(3, 35), traceparent: CALLER, tracestate: "a=1" };

/** A hook that records how a call uses its span. */
function recordingHook() {
  const spans: { name: string; kind: string; attributes: Record<string, unknown>; failed: boolean }[] = [];
  const span: SpanHook = (name, kind, attributes, run) => {
    const record = { name, kind, attributes: { ...attributes } as Record<string, unknown>, failed: false };
    spans.push(record);
    const open: OpenSpan = {
      set: (more) => void Object.assign(record.attributes, more),
      trace: { traceId: trace.traceId, traceparent: OWN, tracestate: "a=1" },
    };
    const result = run(open);
    (result as Promise<unknown>).catch?.(() => (record.failed = true));
    return result;
  };
  return { span, spans };
}

describe("the headers of a call", () => {
  let upstream: Upstream;
  before(async () => (upstream = await openUpstream((res) => res.end("{}"))));
  after(() => upstream[Symbol.asyncDispose]());
  const sent = () => upstream.received.at(-1)!;
  const context = () => new RequestContext({ requestId: "request-1", trace, tenantId: "acme" });

  it("HTTP-1 TRACE-19 contain the request id and the trace of the current request", async () => {
    await using client = createClient({ name: "billing", baseUrl: upstream.url });
    await runWithContext(context(), () => client.get("/a"));
    expect(sent().headers).to.include({
      "x-request-id": "request-1",
      traceparent: CALLER,
      tracestate: "a=1",
    });
  });

  it("HTTP-1 TRACE-19 contain the trace of the call's own span", async () => {
    const { span } = recordingHook();
    await using client = createClient({ name: "billing", baseUrl: upstream.url, span });
    await runWithContext(context(), () => client.get("/a"));
    expect(sent().headers).to.include({ "x-request-id": "request-1", traceparent: OWN, tracestate: "a=1" });
  });

  it("HTTP-1 cannot be replaced by the caller", async () => {
    await using client = createClient({ name: "billing", baseUrl: upstream.url });
    const headers = { "X-Request-Id": "forged", TraceParent: OWN, TraceState: "b=2", "X-Other": "kept" };
    await runWithContext(context(), () => client.get("/a", { headers }));
    expect(sent().headers).to.include({
      "x-request-id": "request-1",
      traceparent: CALLER,
      "x-other": "kept",
    });
    expect(sent().rawHeaders.filter((name) => /^traceparent$/i.test(name))).to.have.length(1);
  });

  it("HTTP-1 are omitted outside a request", async () => {
    await using client = createClient({ name: "billing", baseUrl: upstream.url });
    await client.get("/a");
    expect(sent().headers).to.not.have.any.keys("x-request-id", "traceparent", "tracestate");
  });

  it("HTTP-2 never contain the tenant, and a call with the tenant's header is rejected", async () => {
    await using client = createClient({ name: "billing", baseUrl: upstream.url });
    await runWithContext(context(), () => client.get("/a"));
    expect(JSON.stringify(sent())).to.not.contain("acme");
    const before = upstream.received.length;
    for (const name of ["X-Tenant-ID", "x-tenant-id"]) {
      const error = await rejection(client.get("/a", { headers: { [name]: "acme" } }));
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message).to.contain("X-Tenant-ID is never sent to another service");
    }
    expect(upstream.received).to.have.length(before);
  });

  for (const name of [
    "Host",
    "Connection",
    "Content-Length",
    "Transfer-Encoding",
    "Proxy-Authorization",
    "TE",
  ]) {
    it(`cannot contain ${name}: the call is rejected`, async () => {
      await using client = createClient({ name: "billing", baseUrl: upstream.url });
      const error = await rejection(client.get("/a", { headers: { [name]: "x" } }));
      expect(error).to.be.instanceOf(TypeError);
      expect(error.message).to.equal(`the header ${name.toLowerCase()} is set by the client`);
    });
  }

  it("cannot contain line breaks", async () => {
    await using client = createClient({ name: "billing", baseUrl: upstream.url });
    const error = await rejection(client.get("/a", { headers: { "X-A": "a\r\nX-Tenant-ID: acme" } }));
    expect(error).to.be.instanceOf(TypeError);
  });

  const tokens: readonly (readonly [authorization: string | undefined, sent: string | undefined])[] = [
    ["Bearer abc.def-_~+/==", "Bearer abc.def-_~+/=="],
    ["bearer abc", "bearer abc"],
    ["Basic YTpi", undefined],
    ["Bearer a b", undefined],
    ["Bearer", undefined],
    [undefined, undefined],
  ];
  for (const [authorization, expected] of tokens) {
    it(`HTTP-3 contain ${expected ?? "no token"} if ${authorization ?? "no token"} is to be forwarded`, async () => {
      await using forwarding = createClient({
        name: "billing",
        baseUrl: upstream.url,
        forwardAuthorization: true,
      });
      await using plain = createClient({ name: "billing", baseUrl: upstream.url });
      await using server = await listen((req, res) => {
        const client = req.url === "/forward" ? forwarding : plain;
        void runWithContext(openContext(req), () => client.get("/a")).finally(() => res.end());
      });
      const headers: Record<string, string> = { cookie: "session=secret" };
      if (authorization !== undefined) headers["authorization"] = authorization;
      await fetch(`${server.url}/forward`, { headers });
      expect(sent().headers.authorization).to.equal(expected);
      expect(sent().headers).to.not.have.property("cookie");
      await fetch(`${server.url}/plain`, { headers });
      expect(sent().headers).to.not.have.property("authorization");
    });
  }

  it("HTTP-3 contain a token that the caller passes, instead of the request's", async () => {
    await using client = createClient({ name: "billing", baseUrl: upstream.url, forwardAuthorization: true });
    const own = new RequestContext({}, { headers: { authorization: "Bearer theirs" } });
    await runWithContext(own, () => client.get("/a", { headers: { Authorization: "Bearer ours" } }));
    expect(sent().headers.authorization).to.equal("Bearer ours");
  });

  describe("with instrumentFetch()", () => {
    it("HTTP-1 HTTP-3 TRACE-9 TRACE-19 are added for the given origins only", async () => {
      await using other = await openUpstream((res) => res.end("{}"));
      const { span, spans } = recordingHook();
      const traced = instrumentFetch(fetch, {
        name: "billing",
        origins: [upstream.url],
        forwardAuthorization: true,
        span,
      });
      const own = new RequestContext(
        { requestId: "request-1", trace },
        { headers: { authorization: "Bearer abc" } },
      );
      await runWithContext(own, async () => {
        await traced(`${upstream.url}/a`, { method: "POST", body: "text" });
        await traced(`${other.url}/a`);
      });
      expect(sent().headers).to.include({
        "x-request-id": "request-1",
        traceparent: OWN,
        authorization: "Bearer abc",
      });
      expect(sent().body).to.equal("text");
      expect(other.received[0]?.headers).to.not.have.any.keys("x-request-id", "traceparent", "authorization");
      expect(spans.map(({ name, attributes }) => [name, attributes])).to.deep.equal([
        [
          "POST billing",
          {
            "jfast.upstream": "billing",
            "server.address": "127.0.0.1",
            "http.response.status_code": 200,
          },
        ],
      ]);
    });

    it("are not added for other origins: the call is passed on with the same arguments", async () => {
      const calls: unknown[][] = [];
      const recording = (async (...args: unknown[]) => {
        calls.push(args);
        return new Response();
      }) as typeof fetch;
      const traced = instrumentFetch(recording, { name: "billing", origins: [upstream.url] });
      const request = new Request("http://other.example/a", { method: "POST", body: "text" });
      const init = { method: "POST", body: new ReadableStream(), duplex: "half" as const };
      const url = new URL("http://other.example/a");
      await traced(request);
      await traced(url, init);
      await traced("/relative");
      expect(calls).to.have.length(3);
      expect(calls[0]).to.have.length(1);
      expect(calls[0]?.[0]).to.equal(request);
      expect(await request.text()).to.equal("text");
      expect(calls[1]?.[0]).to.equal(url);
      expect(calls[1]?.[1]).to.equal(init);
      expect(calls[2]).to.deep.equal(["/relative"]);
    });

    it("are added to a Request with a body, and to a URL", async () => {
      const traced = instrumentFetch(fetch, { name: "billing", origins: [upstream.url] });
      await runWithContext(context(), async () => {
        await traced(new Request(`${upstream.url}/a`, { method: "POST", body: "text" }));
        expect(sent()).to.include({ method: "POST", body: "text" });
        expect(sent().headers).to.include({ "x-request-id": "request-1" });
        await traced(new URL(`${upstream.url}/b`));
        expect(sent()).to.include({ url: "/b" });
        expect(sent().headers).to.include({ "x-request-id": "request-1" });
      });
    });

    it("HTTP-1 TRACE-19 do not contain those that the caller passes", async () => {
      const traced = instrumentFetch(fetch, { name: "billing", origins: [upstream.url] });
      const headers = { "X-Request-ID": "forged", TraceParent: OWN, TraceState: "b=2", "X-Other": "kept" };
      await traced(upstream.url, { headers });
      expect(sent().headers).to.include({ "x-other": "kept" });
      expect(sent().headers).to.not.have.any.keys("x-request-id", "traceparent", "tracestate");
      await runWithContext(new RequestContext({ requestId: "request-1" }), () =>
        traced(upstream.url, { headers }),
      );
      expect(sent().headers).to.include({ "x-request-id": "request-1" });
      expect(sent().headers).to.not.have.any.keys("traceparent", "tracestate");
    });

    it("HTTP-2 cannot contain the tenant: the call is rejected", async () => {
      const traced = instrumentFetch(fetch, { name: "billing", origins: [upstream.url] });
      const error = await rejection(traced(upstream.url, { headers: { "X-Tenant-ID": "acme" } }));
      expect(error).to.be.instanceOf(TypeError);
    });

    it("cannot be configured for an origin with a path", () => {
      const options = { name: "billing", origins: [`${upstream.url}/a`] };
      expect(() => instrumentFetch(fetch, options)).to.throw("each entry is an origin such as");
    });
  });
});

describe("the span of a call", () => {
  let upstream: Upstream;
  before(async () => (upstream = await openUpstream((res) => res.end("{}"))));
  after(() => upstream[Symbol.asyncDispose]());

  it("TRACE-9 is one client span, without the path, query and body of the call", async () => {
    const { span, spans } = recordingHook();
    await using client = createClient({ name: "billing", baseUrl: upstream.url, span });
    await client.post("/invoices?token=secret", { json: { secret: 1 } });
    expect(spans).to.deep.equal([
      {
        name: "POST billing",
        kind: "client",
        attributes: {
          "jfast.upstream": "billing",
          "server.address": "127.0.0.1",
          "http.response.status_code": 200,
        },
        failed: false,
      },
    ]);
  });

  it("TRACE-9 is one span with the number of retries when the call is retried", async () => {
    await using failing = await openUpstream((res, count) => res.writeHead(count < 3 ? 503 : 200).end());
    const { span, spans } = recordingHook();
    await using client = createClient({ name: "billing", baseUrl: failing.url, span });
    await client.get("/a");
    expect(spans.map(({ attributes }) => attributes)).to.deep.equal([
      {
        "jfast.upstream": "billing",
        "server.address": "127.0.0.1",
        "http.response.status_code": 200,
        "http.request.resend_count": 2,
      },
    ]);
  });

  it("TRACE-9 TRACE-21 does not prevent or repeat the call when the span hook throws", async () => {
    const faulty: SpanHook = () => {
      throw new Error("the hook fails");
    };
    await using client = createClient({ name: "billing", baseUrl: upstream.url, span: faulty });
    const before = upstream.received.length;
    expect((await client.get("/a")).status).to.equal(200);
    expect(upstream.received).to.have.length(before + 1);
  });
});
