import type { Mutation } from "./mutation.ts";

type LogLine = Record<string, unknown>;

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

const rawPaths: string[] = [];

export const observationMutations = (): readonly Mutation[] => [
  {
    rule: "LOG-1",
    what: "a log line is plain text",
    base: "swift",
    differences: {
      log: (line: LogLine) =>
        String(line["message"]).includes("starting") ? line : `${JSON.stringify(line)}\n> GET\n`,
    },
  },
  {
    rule: "LOG-1",
    what: "a log line contains two JSON objects",
    base: "swift",
    differences: {
      log: (line: LogLine) =>
        String(line["message"]).includes("starting")
          ? line
          : `${JSON.stringify(line)}\n{"worker":1}{"worker":2}\n`,
    },
  },
  {
    rule: "LOG-2",
    what: "the line about a malformed Authorization header has no message",
    base: "swift",
    differences: {
      log: ({ message, ...line }: LogLine) =>
        message === "bearer token refused" && line["reason"] === "malformed"
          ? { ...line, "[redacted]": message }
          : { ...line, message },
    },
  },
  {
    rule: "LOG-2",
    what: "the access line of a request with Authorization of another scheme has no request_id",
    base: "swift",
    differences: {
      log: ({ request_id: id, ...line }: LogLine) =>
        line["http_path"] === "/mine" && line["http_status"] === 401 ? line : { ...line, request_id: id },
    },
  },
  {
    rule: "LOG-2",
    what: "log lines have no env",
    base: "swift",
    differences: { log: ({ env: _env, ...line }) => line },
  },
  {
    rule: "LOG-3",
    what: "the access line contains the status as a string",
    base: "swift",
    differences: {
      log: (line) =>
        typeof line["http_status"] === "number" ? { ...line, http_status: `${line["http_status"]}` } : line,
    },
  },
  {
    rule: "LOG-4",
    what: "the access line does not name the tenant",
    base: "swift",
    differences: { log: ({ tenant_id: _tenant, ...line }) => line },
  },
  {
    rule: "MET-1",
    what: "/metrics is text/html",
    base: "swift",
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
    what: "clients that request OpenMetrics get the classic text format, sent as OpenMetrics",
    base: "swift",
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
    base: "swift",
    differences: metrics((text) => text.replaceAll(/^(http_requests_total\{.*)status="/gm, '$1code="')),
  },
  {
    rule: "MET-4",
    what: "the duration metric has no label endpoint",
    base: "swift",
    differences: metrics((text) =>
      text.replaceAll(/^(http_request_duration_seconds\w*\{.*)endpoint="[^"]*",?/gm, "$1"),
    ),
  },
  {
    rule: "MET-5",
    what: "http_requests_in_progress is missing",
    base: "swift",
    differences: metrics((text) => text.replaceAll("http_requests_in_progress", "http_inflight")),
  },
  {
    rule: "MET-6",
    what: "service_info has no version",
    base: "swift",
    differences: metrics((text) => text.replaceAll(/^(service_info\{.*?),?version="[^"]*"/gm, "$1")),
  },
  {
    rule: "MET-7",
    what: "the metrics of the process are missing",
    base: "swift",
    differences: metrics((text) => text.replaceAll(/^process_.*\n/gm, "")),
  },
  {
    rule: "MET-8",
    what: "the label endpoint is the first segment of the path",
    base: "swift",
    differences: metrics((text) => text.replaceAll("/items/:id", "/items")),
  },
  {
    rule: "MET-9",
    what: "requests without a route are not counted",
    base: "swift",
    differences: metrics((text) => text.replaceAll(/^.*endpoint="<unmatched>".*\n/gm, "")),
  },
  {
    rule: "MET-10",
    what: "every path gets its own time series",
    base: "swift",
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
