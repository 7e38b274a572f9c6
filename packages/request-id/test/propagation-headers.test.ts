import { contextOf, openContext, RequestContext, runWithContext } from "@svc/context";
import { propagationHeaders, requestId } from "@svc/request-id";
import { listen } from "@svc/test-support";
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
