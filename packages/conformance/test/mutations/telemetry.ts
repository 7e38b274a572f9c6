import { randomBytes } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { currentTrace } from "@svc/context";
import type { Json } from "../support/export-relay.ts";
import type { Mutation } from "./mutation.ts";
import { json } from "./report-changes.ts";

type Differences = Mutation["differences"];

/** Changes each exported span, which may be replaced by several. */
function spans(change: (span: Json) => Json | readonly Json[]): Differences {
  return {
    exports(request) {
      for (const scope of scopesOf(request))
        scope["spans"] = (scope["spans"] as Json[]).flatMap((span) => change(span));
    },
  };
}

function scopesOf(request: Json): readonly Json[] {
  return (request["resourceSpans"] as Json[]).flatMap((each) => each["scopeSpans"] as Json[]);
}

/** Changes the attributes of the resource. */
function resource(change: (attributes: Json[]) => Json[]): Differences {
  return {
    exports(request) {
      for (const { resource: each } of request["resourceSpans"] as Json[])
        each["attributes"] = change(each["attributes"] as Json[]);
    },
  };
}

function without(attributes: readonly Json[], key: string): Json[] {
  return attributes.filter((each) => each["key"] !== key);
}

function valueOf(attributes: readonly Json[], key: string): string | undefined {
  const { value } = attributes.find((each) => each["key"] === key) ?? {};
  return (value as Json | undefined)?.["stringValue"] as string | undefined;
}

function withAttribute(span: Json, key: string, value: Json): Json {
  return { ...span, attributes: [...without(span["attributes"] as Json[], key), { key, value }] };
}

/** Removes an attribute of each server span. */
function lacking(key: string): Differences {
  return spans((span) => ({ ...span, attributes: without(span["attributes"] as Json[], key) }));
}

/** Removes the name of the server from each span that has another attribute. */
function unaddressed(other: string): Differences {
  return spans((span) => {
    const attributes = span["attributes"] as Json[];
    return valueOf(attributes, other) === undefined
      ? span
      : { ...span, attributes: without(attributes, "server.address") };
  });
}

/** Adds to each server span an attribute with a part of its request. */
function recording(key: string, partOf: (req: IncomingMessage) => string | Promise<string>): Differences {
  const parts = new Map<string, string>();
  return {
    async request(req) {
      parts.set(String(req.headers["x-request-id"]), await partOf(req));
    },
    ...spans((span) => {
      const id = valueOf(span["attributes"] as Json[], "jfast.request_id") ?? "";
      return withAttribute(span, key, { stringValue: parts.get(id) ?? "" });
    }),
  };
}

/** Changes the check `telemetry` of `/ready`. */
function check(change: (result: Json) => Json): Differences {
  return json("/ready", (body) => {
    const checks = body["checks"] as Record<string, Json>;
    checks["telemetry"] = change(checks["telemetry"] ?? {});
  });
}

const newId = (bytes: number): string => randomBytes(bytes).toString("hex");

/** Rules whose checks read the received spans. */
const ofSpans = (
  "TRACE-1 TRACE-4 TRACE-7 TRACE-14 TRACE-15 TRACE-17 TRACE-18 TRACE-22 TRACE-24 TRACE-26 TRACE-28 COR-13 " +
  "COR-14 COR-15 TRACE-9 TRACE-10 TRACE-19 GW-1 RDY-1 RDY-2 RDY-3"
).split(" ");
/** Rules whose checks refuse exports, which takes about ten seconds. */
const ofRefusals = [...ofSpans, "RDY", "TRACE"];

const changedSpans: readonly Omit<Mutation, "base" | "reaches">[] = [
  {
    rule: "TRACE-1",
    what: "an export is not in a format of OTLP",
    differences: {
      exports: async (_request, send) => send("spans", { "content-type": "text/plain" }).then(),
    },
  },
  {
    rule: "TRACE-4",
    what: "the spans have another service name",
    differences: resource((attributes) => [
      ...without(attributes, "service.name"),
      { key: "service.name", value: { stringValue: "unknown_service:node" } },
    ]),
  },
  {
    rule: "TRACE-7",
    what: "server spans are named by the method alone",
    differences: spans((span) => ({ ...span, name: String(span["name"]).split(" ", 1)[0] })),
  },
  {
    rule: "TRACE-7",
    what: "server spans have no request id",
    differences: lacking("jfast.request_id"),
  },
  {
    rule: "TRACE-7",
    what: "server spans have no tenant",
    differences: lacking("jfast.tenant_id"),
  },
  {
    rule: "TRACE-7",
    what: "a request without a route has no span",
    differences: spans((span) =>
      span["kind"] === 2 && valueOf(span["attributes"] as Json[], "http.route") === undefined ? [] : span,
    ),
  },
  {
    rule: "TRACE-14",
    what: "the spans have no version of the service",
    differences: resource((attributes) => without(attributes, "service.version")),
  },
  {
    rule: "TRACE-15",
    what: "server spans contain the raw path",
    differences: recording("url.path", (req) => (req.url ?? "").split("?", 1)[0] ?? ""),
  },
  {
    rule: "TRACE-15",
    what: "server spans contain the query",
    differences: recording("url.query", (req) => (req.url ?? "").split("?", 2)[1] ?? ""),
  },
  {
    rule: "TRACE-17",
    what: "exceptions have no stack",
    differences: spans((span) => ({
      ...span,
      events: (span["events"] as Json[]).map((event) => ({
        ...event,
        attributes: without(event["attributes"] as Json[], "exception.stacktrace"),
      })),
    })),
  },
  {
    rule: "TRACE-18",
    what: "every request begins a new trace",
    differences: spans(({ parentSpanId: _parent, ...span }) => ({ ...span, traceId: newId(16) })),
    unjudged: ["TRACE-10"],
  },
  {
    rule: "TRACE-22",
    what: "the web framework adds its own server span",
    differences: spans((span) => [span, { ...span, spanId: newId(8) }]),
  },
  {
    rule: "TRACE-24",
    what: "/ready shows the query of the endpoint",
    differences: check(({ detail, ...result }) => ({
      ...result,
      detail: String(detail).replace("/v1/traces", "/v1/traces?key=secret"),
    })),
  },
  {
    rule: "TRACE-26",
    what: "an attribute has 300 characters",
    differences: spans((span) => withAttribute(span, "note", { stringValue: "x".repeat(300) })),
  },
  {
    rule: "TRACE-26",
    what: "an attribute is a list",
    differences: spans((span) => withAttribute(span, "roles", { arrayValue: { values: [] } })),
  },
  {
    rule: "TRACE-28",
    what: "traces that the caller does not sample are recorded",
    differences: {
      request(req) {
        req.headers.traceparent = String(req.headers.traceparent).replace(/-00$/, "-01");
      },
    },
  },
  {
    rule: "COR-14",
    what: "outbound calls name a span that the service does not export",
    differences: {
      outbound: ({ traceparent = "", ...headers }) => ({
        ...headers,
        traceparent: traceparent.replace(/-[0-9a-f]{16}-/, `-${newId(8)}-`),
      }),
    },
    unjudged: ["TRACE-19"],
  },
];

const outboundCalls: readonly Omit<Mutation, "base" | "reaches">[] = [
  {
    rule: "TRACE-9",
    what: "spans of outbound calls do not name the server",
    differences: unaddressed("jfast.upstream"),
  },
  {
    rule: "TRACE-10",
    what: "spans of requests that were passed on do not name the server",
    differences: unaddressed("jfast.gateway.prefix"),
  },
  {
    rule: "TRACE-19",
    what: "outbound calls send the trace of the request's span",
    differences: {
      outbound: (headers) => ({ ...headers, traceparent: currentTrace()?.traceparent ?? "" }),
    },
  },
];

const refusals: readonly Omit<Mutation, "base" | "reaches">[] = [
  {
    rule: "TRACE-21",
    what: "a request fails when its tracestate cannot be parsed",
    differences: {
      request(req, res) {
        if (!String(req.headers.tracestate).includes(";%")) return false;
        res.writeHead(500).end();
        return true;
      },
    },
  },
  {
    rule: "TRACE-23",
    what: "/ready reports no counts",
    differences: check(({ detail, meta: _meta, ...result }) => ({
      ...result,
      detail: String(detail).replace(/: \d+ span.*/, ""),
    })),
  },
  {
    rule: "TRACE-23",
    what: "/ready reports a failing export in other words",
    differences: check((result) => ({
      ...result,
      detail: String(result["detail"]).replace("span export failing", "trouble"),
    })),
  },
  {
    rule: "RDY-17",
    what: "a failing export is critical",
    differences: check((result) => ({ ...result, critical: result["healthy"] === false })),
  },
];

export const telemetryMutations = (): readonly Mutation[] => [
  ...changedSpans.map((each) => ({ ...each, base: "traced" as const, reaches: ofSpans })),
  ...outboundCalls.map((each) => ({ ...each, base: "traced" as const, reaches: ofSpans })),
  ...refusals.map((each) => ({ ...each, base: "traced" as const, reaches: ofRefusals })),
  {
    rule: "TRACE-5",
    what: "tracing without an endpoint counts as a failure",
    base: "anonymous",
    differences: check((result) => ({ ...result, healthy: false, status: "fail" })),
    reaches: ofRefusals,
  },
  {
    rule: "TRACE-23",
    what: "/ready does not name the variable of the endpoint",
    base: "anonymous",
    differences: check((result) => ({ ...result, detail: "not exporting" })),
    reaches: ofRefusals,
  },
];
