import * as api from "@opentelemetry/api";
import { expect } from "chai";
import { createWithSpan } from "../src/context-with-span.ts";

describe("createWithSpan()", () => {
  const withSpan = createWithSpan(api);
  const key = api.createContextKey("test");
  const other = api.createContextKey("other");
  const spanOf = (traceId: string): api.Span =>
    api.trace.wrapSpanContext({ traceId, spanId: "b7ad6b7169203331", traceFlags: 1 });
  const outer = spanOf("0af7651916cd43dd8448eb211c80319c");
  const inner = spanOf("1af7651916cd43dd8448eb211c80319c");
  const parent = api.trace.setSpan(api.ROOT_CONTEXT, outer).setValue(key, "kept");

  it("TRACE-7 makes the span active and keeps the other values and the parent", () => {
    const context = withSpan(parent, inner);
    expect(api.trace.getSpan(context)).to.equal(inner);
    expect(context.getValue(key)).to.equal("kept");
    expect(api.trace.getSpan(parent)).to.equal(outer);
  });

  it("TRACE-7 sets and deletes values as the contexts of OpenTelemetry do", () => {
    const context = withSpan(parent, inner);
    const changed = context.setValue(other, "set").deleteValue(key);
    expect(api.trace.getSpan(changed)).to.equal(inner);
    expect([changed.getValue(other), changed.getValue(key)]).to.deep.equal(["set", undefined]);
    expect([context.getValue(other), context.getValue(key)]).to.deep.equal([undefined, "kept"]);
    expect(api.trace.getSpan(api.trace.setSpan(context, outer))).to.equal(outer);
    expect(api.trace.getSpan(api.trace.deleteSpan(context))).to.equal(undefined);
  });
});
