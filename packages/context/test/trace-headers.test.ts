import type { IncomingMessage } from "node:http";
import { deferTraceHeaders, isSampled, parseTraceparent, RequestContext } from "@svc/context";
import { expect } from "chai";

const PREFIX = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-";

function contextWith(headers: IncomingMessage["headers"], context = new RequestContext()): RequestContext {
  deferTraceHeaders(context, { headers } as IncomingMessage);
  return context;
}

describe("deferTraceHeaders()", () => {
  it("COR-9 stores the caller's headers, and keeps a trace that the context already has", () => {
    const context = contextWith({ traceparent: `${PREFIX}01`, tracestate: "a=1" });
    contextWith({ traceparent: `${PREFIX}00` }, context);
    expect(context.trace).to.include({ traceparent: `${PREFIX}01`, tracestate: "a=1" });
  });

  it("COR-11 stores nothing without a valid traceparent", () => {
    expect(contextWith({ tracestate: "a=1" }).trace).to.equal(undefined);
    expect(contextWith({ traceparent: "01", tracestate: "a=1" }).trace).to.equal(undefined);
  });
});

describe("isSampled()", () => {
  for (const [flags, sampled] of [
    ["01", true],
    ["03", true],
    ["ff", true],
    ["00", false],
    ["02", false],
    ["fe", false],
  ] as const) {
    it(`returns ${sampled} for the flags ${flags}`, () => {
      const trace = parseTraceparent(PREFIX + flags) ?? expect.fail("the header is valid");
      expect(isSampled(trace)).to.equal(sampled);
    });
  }
});
