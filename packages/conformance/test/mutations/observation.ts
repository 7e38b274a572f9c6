import type { Mutation } from "../mutations.ts";

type LogLine = Record<string, unknown>;

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

/** Changes the text of `/metrics`. */
function metrics(change: (text: string) => string): Mutation["differences"] {
  return {
    answer(answer) {
      if (answer.path !== "/metrics") return;
      const type = String(answer.res.getHeader("content-type"));
      answer.setText(change(answer.text()), type);
    },
  };
}

let sequence = 0;
let isZero = false;
let invalidState: string | undefined;
const rawPaths: string[] = [];

export const observationMutations: readonly Mutation[] = [
  {
    rule: "COR-1",
    what: "every request gets a new id",
    base: "full",
    differences: withId(() => undefined),
    unjudged: ["COR-6"],
  },
  {
    rule: "COR-2",
    what: "a request without an id has none",
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
    base: "full",
    differences: { answer: ({ res }) => res.removeHeader("x-request-id") },
  },
  {
    rule: "COR-3",
    what: "the answer to an exception has no X-Request-ID",
    base: "full",
    differences: {
      answer({ res, status }) {
        if (status === 500) res.removeHeader("x-request-id");
      },
    },
  },
  {
    rule: "COR-4",
    what: "log lines have no request_id",
    base: "full",
    differences: {
      log: ({ request_id: id, ...line }) => ({ ...line, id }),
    },
  },
  {
    rule: "COR-5",
    what: "outbound calls carry no X-Request-ID",
    base: "full",
    differences: { outbound: ({ "X-Request-ID": _id, ...headers }) => headers },
  },
  {
    rule: "COR-6",
    what: "an id of more than 64 characters is replaced",
    base: "full",
    differences: withId((id) => (id !== undefined && id.length > 64 && id.length <= 128 ? undefined : id)),
  },
  {
    rule: "COR-7",
    what: "an id of any length is echoed",
    base: "full",
    differences: {
      answer({ res }, req) {
        const id = req.headers["x-request-id"];
        if (typeof id === "string" && id.length > 128) res.setHeader("X-Request-ID", id);
      },
    },
  },
  {
    rule: "COR-8",
    what: "ids are made with dashes",
    base: "full",
    differences: withId((id) => id ?? `0f8fad5b-d9cb-469f-a165-${String(++sequence).padStart(12, "0")}`),
  },
  {
    rule: "COR-9",
    what: "traceparent is not read",
    base: "full",
    differences: {
      request(req) {
        delete req.headers["traceparent"];
      },
    },
    unjudged: ["COR-12", "COR-13"],
  },
  {
    rule: "COR-10",
    what: "a traceparent of another version is taken",
    base: "full",
    differences: {
      request(req) {
        const given = req.headers["traceparent"];
        if (typeof given === "string") req.headers["traceparent"] = given.replace(/^01-/, "00-");
      },
    },
  },
  {
    rule: "COR-10",
    what: "a trace id of zeros is taken",
    base: "full",
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
    what: "the tracestate of an invalid traceparent goes on",
    base: "full",
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
    base: "full",
    differences: {
      log: ({ trace_id: trace, ...line }) => (trace === undefined ? line : { ...line, traceparent: trace }),
    },
  },
  {
    rule: "COR-13",
    what: "outbound calls carry no trace context",
    base: "full",
    differences: { outbound: ({ traceparent: _parent, tracestate: _state, ...headers }) => headers },
  },
  {
    rule: "COR-15",
    what: "outbound calls have a parent id of the service's own",
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
  {
    rule: "LOG-1",
    what: "a line of plain text in the log",
    base: "full",
    differences: {
      log: (line: LogLine) =>
        String(line["message"]).includes("starting") ? line : `${JSON.stringify(line)}\n> GET\n`,
    },
  },
  {
    rule: "LOG-2",
    what: "lines have no env",
    base: "full",
    differences: { log: ({ env: _env, ...line }) => line },
  },
  {
    rule: "LOG-3",
    what: "the access line has its status as text",
    base: "full",
    differences: {
      log: (line) =>
        typeof line["http_status"] === "number" ? { ...line, http_status: `${line["http_status"]}` } : line,
    },
  },
  {
    rule: "LOG-4",
    what: "the access line does not name the tenant",
    base: "full",
    differences: { log: ({ tenant_id: _tenant, ...line }) => line },
  },
  {
    rule: "MET-1",
    what: "/metrics is text/html",
    base: "full",
    differences: {
      answer(answer) {
        if (answer.path === "/metrics") {
          const type = String(answer.res.getHeader("content-type"));
          if (type.startsWith("text/plain")) answer.setText(answer.text(), "text/html");
        }
      },
    },
  },
  {
    rule: "MET-2",
    what: "classic text that calls itself OpenMetrics for those who ask",
    base: "full",
    differences: {
      request(req) {
        if (req.url === "/metrics" && String(req.headers.accept).includes("openmetrics")) {
          Object.assign(req, { wantsOpen: true });
          req.headers.accept = "text/plain";
        }
      },
      answer(answer, req) {
        if ("wantsOpen" in req) answer.setText(answer.text(), "application/openmetrics-text; version=1.0.0");
      },
    },
  },
  {
    rule: "MET-3",
    what: "http_requests_total has the label code instead of status",
    base: "full",
    differences: metrics((text) => text.replaceAll(/^(http_requests_total\{.*)status="/gm, '$1code="')),
  },
  {
    rule: "MET-4",
    what: "durations are not counted by endpoint",
    base: "full",
    differences: metrics((text) =>
      text.replaceAll(/^(http_request_duration_seconds\w*\{.*)endpoint="[^"]*",?/gm, "$1"),
    ),
  },
  {
    rule: "MET-5",
    what: "no http_requests_in_progress",
    base: "full",
    differences: metrics((text) => text.replaceAll("http_requests_in_progress", "http_inflight")),
  },
  {
    rule: "MET-6",
    what: "service_info has no version",
    base: "full",
    differences: metrics((text) => text.replaceAll(/^(service_info\{.*?),?version="[^"]*"/gm, "$1")),
  },
  {
    rule: "MET-7",
    what: "no metrics of the process",
    base: "full",
    differences: metrics((text) => text.replaceAll(/^process_.*\n/gm, "")),
  },
  {
    rule: "MET-8",
    what: "the endpoint is the first segment of the path",
    base: "full",
    differences: metrics((text) => text.replaceAll("/items/:id", "/items")),
  },
  {
    rule: "MET-9",
    what: "requests that no route took are not counted",
    base: "full",
    differences: metrics((text) => text.replaceAll(/^.*endpoint="<unmatched>".*\n/gm, "")),
  },
  {
    rule: "MET-10",
    what: "a series for every path",
    base: "full",
    differences: {
      request(req) {
        const path = req.url?.split("?", 1)[0] ?? "";
        if (/^\/svc|^\/items/.test(path) && rawPaths.length < 2000) rawPaths.push(path);
      },
      ...metrics((text) => {
        const lines = rawPaths.map(
          (path) => `http_requests_total{method="GET",endpoint="${path}",status="404"} 1\n`,
        );
        return text.replace(/^(http_requests_total\{)/m, `${lines.join("")}$1`);
      }),
    },
  },
];
