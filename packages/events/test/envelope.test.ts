import { RequestContext, runWithContext } from "@svc/context";
import { createEvents, type EventEnvelope, readEnvelope } from "@svc/events";
import { badTenantIds, goodTenantIds, rejection, withActiveSpan } from "@svc/test-support";
import { expect } from "chai";
import { obedientBus } from "./support/obedient-bus.ts";

const TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
const FULL = {
  id: "e1",
  type: "order.paid",
  source: "shop",
  occurred_at: "2026-03-01T10:00:00.5+01:00",
  request_id: "r1",
  tenant_id: "acme",
  trace: { traceparent: TRACEPARENT, tracestate: "a=1" },
  key: "o7",
  data: { total: 5 },
};

describe("the envelope", () => {
  const bus = obedientBus();
  const events = createEvents({ source: "books", bus, now: () => Date.UTC(2026, 0, 2, 3, 4, 5, 6) });
  const sent = (): unknown => JSON.parse(bus.taken.at(-1)?.body ?? "");

  it("EVT-1 EVT-9 has nine fields, with a new request_id and an empty tenant_id and trace when there is no context", async () => {
    const envelope = await events.publish({ type: "expense.recorded", data: { amount: 3 } });
    expect(envelope.id).to.match(/^[0-9a-f]{32}$/);
    expect(envelope.request_id).to.match(/^[0-9a-f]{32}$/);
    expect(envelope).to.deep.equal({
      id: envelope.id,
      type: "expense.recorded",
      source: "books",
      occurred_at: "2026-01-02T03:04:05.006Z",
      request_id: envelope.request_id,
      tenant_id: "",
      trace: {},
      key: null,
      data: { amount: 3 },
    });
    expect(sent()).to.deep.equal(envelope);
    expect(Object.keys(sent() as object)).to.have.ordered.members(Object.keys(envelope));
  });

  it("EVT-9 takes request id, tenant and trace from the current context unless the caller sets them", async () => {
    const trace = { traceId: TRACEPARENT.slice(3, 35), traceparent: TRACEPARENT, tracestate: "a=1" };
    const context = new RequestContext({ requestId: "r-7", tenantId: "acme", trace });
    const [one, other] = await runWithContext(context, () =>
      Promise.all([
        events.publish({ type: "a", data: {} }),
        events.publish({ type: "a", data: {}, requestId: "r-8", tenantId: null, trace: null }),
      ]),
    );
    expect(one).to.deep.include({
      request_id: "r-7",
      tenant_id: "acme",
      trace: { traceparent: TRACEPARENT, tracestate: "a=1" },
    });
    expect(other).to.deep.include({ request_id: "r-8", tenant_id: "", trace: {} });
    const spaced = new RequestContext({ requestId: "no id" });
    const minted = await runWithContext(spaced, () => events.publish({ type: "a", data: {} }));
    expect(minted.request_id, "a malformed request id is not passed on").to.match(/^[0-9a-f]{32}$/);
  });

  it("EVT-9 prefers the trace of an active OpenTelemetry span to that of the current context", async () => {
    const caller = { traceId: TRACEPARENT.slice(3, 35), traceparent: TRACEPARENT, tracestate: "a=1" };
    const active = TRACEPARENT.replace(/-[0-9a-f]{16}-/, "-00f067aa0ba902b7-");
    const published = await withActiveSpan(active, () =>
      runWithContext(new RequestContext({ trace: caller }), () =>
        Promise.all([
          events.publish({ type: "a", data: {} }),
          events.publish({ type: "a", data: {}, trace: null }),
        ]),
      ),
    );
    expect(published.map(({ trace }) => trace)).to.deep.equal([{ traceparent: active }, {}]);
  });

  it("takes id, key, time, tenant and trace from the caller", async () => {
    const given = {
      type: "a.b",
      id: "mine-1",
      key: "k",
      occurredAt: new Date("2020-01-01T00:00:00Z"),
      tenantId: "t",
      trace: { traceparent: TRACEPARENT },
      data: {},
    };
    expect(await events.publish(given)).to.deep.include({
      id: "mine-1",
      key: "k",
      occurred_at: "2020-01-01T00:00:00.000Z",
      tenant_id: "t",
      trace: { traceparent: TRACEPARENT },
    });
  });

  const cyclic: Record<string, unknown> = {};
  cyclic["self"] = cyclic;
  const bad: readonly (readonly [string, unknown, string])[] = [
    ["a string instead of an event", "a", "an event must be an object"],
    [
      "an unknown member",
      { type: "a", data: {}, dat: 1 },
      'unknown member "dat" in an event; expected one of type, data, key',
    ],
    ["a missing type", { data: {} }, "type must consist of words"],
    ["a type with spaces", { type: "a b", data: {} }, "type must consist of words"],
    ["a type with empty words", { type: "a..b", data: {} }, "type must consist of words"],
    ["a type that is a wildcard", { type: "a.*", data: {} }, "type must consist of words"],
    ["a long type", { type: "a".repeat(201), data: {} }, "type must consist of words"],
    ["missing data", { type: "a" }, "data must be an object; it is undefined"],
    ["a list as data", { type: "a", data: [] }, "data must be an object; it is a list"],
    ["a date as data", { type: "a", data: new Date(0) }, "data must serialize to a JSON object"],
    ["cyclic data", { type: "a", data: cyclic }, "data cannot be serialized as JSON"],
    ["a bigint in data", { type: "a", data: { n: 1n } }, "data cannot be serialized as JSON"],
    ["NUL in data", { type: "a", data: { s: "a\0b" } }, "data contains NUL"],
    [
      "a lone surrogate in data",
      { type: "a", data: { s: "\ud800" } },
      "data contains NUL or an unpaired surrogate",
    ],
    [
      "10 MB of data",
      { type: "a", data: { s: "x".repeat(1e7) } },
      "at most 1000000 are allowed (maxEventBytes)",
    ],
    ["an id with a space", { type: "a", data: {}, id: "a b" }, "id must be"],
    ["a long id", { type: "a", data: {}, id: "i".repeat(129) }, "id must be"],
    ["an empty key", { type: "a", data: {}, key: "" }, "key must have 1 to 255 characters"],
    ["a number as key", { type: "a", data: {}, key: 7 }, "key must be a string; it is 7"],
    ["NUL in the key", { type: "a", data: {}, key: "a\0" }, "key must have"],
    ["a request id with a line break", { type: "a", data: {}, requestId: "a\nb" }, "requestId must be"],
    ...Object.entries(badTenantIds).map(
      ([what, tenantId]) =>
        [`a tenant with ${what}`, { type: "a", data: {}, tenantId }, "tenantId must have 1 to 255"] as const,
    ),
    ["a number as tenant", { type: "a", data: {}, tenantId: 42 }, "tenantId must be a string"],
    [
      "an invalid Date",
      { type: "a", data: {}, occurredAt: new Date(Number.NaN) },
      "occurredAt must be a valid Date",
    ],
    [
      "an invalid trace",
      { type: "a", data: {}, trace: { traceparent: "x" } },
      "trace must have a valid traceparent",
    ],
    [
      "a long tracestate",
      { type: "a", data: {}, trace: { traceparent: TRACEPARENT, tracestate: "x".repeat(513) } },
      "trace.tracestate must have at most 512",
    ],
  ];
  for (const [what, event, message] of bad) {
    it(`rejects ${what} at publish(), and sends nothing`, async () => {
      const before = bus.calls;
      const error = await rejection(events.publish(event as { type: string; data: object }));
      expect(error).to.include({ name: "EventError", code: "ERR_SVC_EVENT_ARGUMENT" });
      expect(error.message).to.include(message);
      expect(bus.calls).to.equal(before);
    });
  }

  it("EVT-1 can be read from a string and from parsed JSON", () => {
    const expected: EventEnvelope = FULL;
    expect(readEnvelope(JSON.stringify(FULL))).to.deep.equal(expected);
    expect(readEnvelope(FULL)).to.deep.equal(expected);
  });

  it("accepts every valid tenant id, and rejects an invalid one (AUTH-39)", async () => {
    for (const tenant_id of goodTenantIds) {
      expect(readEnvelope({ ...FULL, tenant_id })).to.include({ tenant_id });
      expect(await events.publish({ type: "a", data: {}, tenantId: tenant_id })).to.include({ tenant_id });
    }
    for (const tenant_id of Object.values(badTenantIds)) {
      expect(() => readEnvelope({ ...FULL, tenant_id })).to.throw("tenant_id must be a string of 1 to 255");
    }
  });

  it("EVT-9 can be read without optional fields and with unknown fields, as other publishers may send it", () => {
    const { id, type, source, occurred_at, data } = FULL;
    const least = { id, type, source, occurred_at, data };
    const expected = { ...least, request_id: "e1", tenant_id: "", trace: {}, key: null };
    expect(readEnvelope(least)).to.deep.equal(expected);
    expect(readEnvelope({ ...least, tenant_id: null, key: null, trace: null, more: 1 })).to.deep.equal(
      expected,
    );
    expect(readEnvelope({ ...least, trace: { traceparent: "no" }, request_id: 5 })).to.deep.equal(expected);
    const odd = readEnvelope({ ...least, id: "an id" });
    expect(odd.request_id, "an event id that is not a valid request id is replaced").to.match(
      /^[0-9a-f]{32}$/,
    );
    expect(readEnvelope({ ...least, id: "an id" }).request_id).to.equal(odd.request_id);
    for (const moment of [
      "2026-03-01T10:00Z",
      "2026-03-01 10:00:00,25+0100",
      "2026-03-01T10:00:00.123456789-05",
    ]) {
      expect(readEnvelope({ ...least, occurred_at: moment }).occurred_at).to.equal(moment);
    }
  });

  const unreadable: readonly (readonly [string, unknown, string])[] = [
    ["text that is not JSON", "{", "it is not JSON"],
    ["an empty text", "", "it is not JSON"],
    ["null", "null", "it is not an object"],
    ["a list", "[]", "it is not an object"],
    ["fields without an id", { ...FULL, id: undefined }, "id must be a string"],
    ["fields with a number as id", { ...FULL, id: 7 }, "id must be a string"],
    ["fields with NUL in the id", { ...FULL, id: "a\0" }, "id must be a string"],
    ["fields with a type that is too long", { ...FULL, type: "x".repeat(256) }, "type must be a string"],
    ["fields with an empty source", { ...FULL, source: "" }, "source must be a string"],
    ["fields with a local time", { ...FULL, occurred_at: "2026-03-01T10:00:00" }, "occurred_at must be"],
    ["fields with an invalid time", { ...FULL, occurred_at: "2026-13-01T10:00:00Z" }, "occurred_at must be"],
    ["fields with an invalid day", { ...FULL, occurred_at: "2026-02-30T10:00:00Z" }, "occurred_at must"],
    ["fields with a number as time", { ...FULL, occurred_at: 1 }, "occurred_at must be"],
    ["fields with a number as tenant", { ...FULL, tenant_id: 42 }, "tenant_id must be"],
    ["fields with an object as key", { ...FULL, key: {} }, "key must be"],
    ["fields with a list as data", { ...FULL, data: [] }, "data must be an object"],
    ["fields with null as data", { ...FULL, data: null }, "data must be an object"],
  ];
  for (const [what, given, message] of unreadable) {
    it(`EVT-1 is rejected when read from ${what}`, () => {
      expect(() => readEnvelope(given))
        .to.throw(message)
        .that.includes({ name: "EventError", code: "ERR_SVC_EVENT_ENVELOPE" });
    });
  }

  it("is rejected when read from a string whose data has an integer that JavaScript would round (EVT-11)", () => {
    const text = JSON.stringify(FULL);
    const rounded = text.replace('"data":{', '"data":{"id":-9007199254740993,');
    expect(rounded).not.to.equal(text);
    expect(() => readEnvelope(rounded)).to.throw(
      "not a valid event: data.id is an integer outside the safe range",
    );
    const kept = text.replace('"data":{', '"data":{"id":"9007199254740993",');
    expect(readEnvelope(kept).data).to.include({ id: "9007199254740993" });
  });

  it("is rejected when read from a string with more bytes than the limit", () => {
    const body = JSON.stringify({ ...FULL, data: { s: "ä".repeat(100) } });
    expect(readEnvelope(body, Buffer.byteLength(body)).id).to.equal("e1");
    expect(() => readEnvelope(body, body.length)).to.throw("bytes (maxEventBytes)");
  });
});
