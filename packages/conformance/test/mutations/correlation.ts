import type { Mutation } from "./mutation.ts";

function withId(make: (id: string | undefined) => string | undefined): Mutation["differences"] {
  return {
    request(req) {
      const given = req.headers["x-request-id"];
      const id = make(typeof given === "string" ? given : undefined);
      if (id === undefined) delete req.headers["x-request-id"];
      else req.headers["x-request-id"] = id;
    },
  };
}

let sequence = 0;
let isZero = false;
let invalidState: string | undefined;

export const correlationMutations = (): readonly Mutation[] => [
  {
    rule: "COR-1",
    what: "the id that a request sends is replaced",
    base: "swift",
    differences: withId(() => undefined),
    unjudged: ["COR-6"],
  },
  {
    rule: "COR-1",
    what: "the name X-Request-ID is case-sensitive",
    base: "swift",
    differences: {
      request(req) {
        if (!req.rawHeaders.includes("X-Request-ID")) delete req.headers["x-request-id"];
      },
    },
  },
  {
    rule: "COR-2",
    what: "the service generates no id for a request without one",
    base: "reduced",
    differences: {
      answer(answer, req) {
        if (
          req.headers["x-request-id"] !== undefined ||
          answer.status !== 404 ||
          req.rawHeaders.includes("X-Request-ID")
        ) {
          return;
        }
        answer.res.removeHeader("x-request-id");
        const { request_id: _id, ...rest } = answer.json();
        answer.setJson(rest);
      },
    },
    unjudged: ["COR-8"],
  },
  {
    rule: "COR-3",
    what: "X-Request-ID is not echoed",
    base: "swift",
    differences: { answer: ({ res }) => res.removeHeader("x-request-id") },
    unjudged: ["HTTP-1"],
  },
  {
    rule: "COR-3",
    what: "the response to an exception has no X-Request-ID",
    base: "swift",
    differences: {
      answer({ res, status }) {
        if (status === 500) res.removeHeader("x-request-id");
      },
    },
  },
  {
    rule: "COR-4",
    what: "log lines have no request_id",
    base: "swift",
    differences: {
      log: ({ request_id: id, ...line }) => ({ ...line, id }),
    },
  },
  {
    rule: "COR-5",
    what: "outbound calls do not send X-Request-ID",
    base: "swift",
    differences: { outbound: ({ "X-Request-ID": _id, ...headers }) => headers },
    unjudged: ["HTTP-1"],
  },
  {
    rule: "HTTP-1",
    what: "outbound calls do not send an id that the service generated",
    base: "swift",
    differences: {
      outbound: ({ "X-Request-ID": id = "", ...headers }) =>
        /^[0-9a-f]{32}$/.test(id) ? headers : { ...headers, "X-Request-ID": id },
    },
  },
  {
    rule: "HTTP-2",
    what: "outbound calls send a tenant",
    base: "swift",
    differences: { outbound: (headers) => ({ ...headers, "X-Tenant-ID": "acme" }) },
  },
  {
    rule: "HTTP-3",
    what: "outbound calls send a token",
    base: "swift",
    differences: { outbound: (headers) => ({ ...headers, Authorization: "Bearer abc" }) },
  },
  {
    rule: "COR-6",
    what: "an id of more than 64 characters is replaced",
    base: "swift",
    differences: withId((id) => (id !== undefined && id.length > 64 && id.length <= 128 ? undefined : id)),
  },
  {
    rule: "COR-7",
    what: "an id of any length is echoed",
    base: "swift",
    differences: {
      answer({ res }, req) {
        const id = req.headers["x-request-id"];
        if (typeof id === "string" && id.length > 128) res.setHeader("X-Request-ID", id);
      },
    },
  },
  {
    rule: "COR-8",
    what: "generated ids have dashes",
    base: "swift",
    differences: withId((id) => id ?? `0f8fad5b-d9cb-469f-a165-${String(++sequence).padStart(12, "0")}`),
  },
  {
    rule: "COR-9",
    what: "traceparent is not read",
    base: "swift",
    differences: {
      request(req) {
        delete req.headers["traceparent"];
      },
    },
    unjudged: ["COR-12", "COR-13"],
  },
  {
    rule: "COR-10",
    what: "a traceparent of another version is accepted",
    base: "swift",
    differences: {
      request(req) {
        const given = req.headers["traceparent"];
        if (typeof given === "string") req.headers["traceparent"] = given.replace(/^01-/, "00-");
      },
    },
  },
  {
    rule: "COR-10",
    what: "a trace id of zeros is accepted",
    base: "swift",
    differences: {
      middleware(req, _res, next) {
        isZero = /^00-0{32}-/.test(String(req.headers["traceparent"]));
        next();
      },
      outbound: (headers) =>
        isZero ? { ...headers, traceparent: `00-${"0".repeat(32)}-00f067aa0ba902b7-01` } : headers,
    },
  },
  {
    rule: "COR-11",
    what: "the tracestate of an invalid traceparent is sent with outbound calls",
    base: "swift",
    differences: {
      middleware(req, _res, next) {
        invalidState = String(req.headers["traceparent"]).includes("0000000000000000")
          ? String(req.headers["tracestate"])
          : undefined;
        next();
      },
      outbound: (headers) =>
        invalidState === undefined ? headers : { ...headers, tracestate: invalidState },
    },
  },
  {
    rule: "COR-12",
    what: "the trace id is logged as traceparent",
    base: "swift",
    differences: {
      log: ({ trace_id: trace, ...line }) => (trace === undefined ? line : { ...line, traceparent: trace }),
    },
  },
  {
    rule: "COR-13",
    what: "outbound calls do not send a trace context",
    base: "swift",
    differences: { outbound: ({ traceparent: _parent, tracestate: _state, ...headers }) => headers },
  },
  {
    rule: "COR-15",
    what: "outbound calls have the service's own parent id",
    base: "reduced",
    differences: {
      outbound: (headers) => ({
        ...headers,
        ...(headers["traceparent"] === undefined
          ? {}
          : { traceparent: headers["traceparent"].replace(/-[0-9a-f]{16}-/, "-00f067aa0ba90000-") }),
      }),
    },
  },
];
