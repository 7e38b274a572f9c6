import type { Mutation } from "./mutation.ts";
import { answerJson, brokenOnes, json } from "./report-changes.ts";

/** Makes `/health` return 503 while one of these dependencies is broken. */
function probing(...dependencies: readonly string[]): Mutation["differences"] {
  const broken = brokenOnes();
  return {
    request: (req) => broken.note(req.url),
    answer(answer) {
      if (answer.path === "/health" && dependencies.some((each) => broken.names.has(each)))
        answer.status = 503;
    },
  };
}

export const systemMutations = (): readonly Mutation[] => [
  {
    rule: "SYS-1",
    what: "the status of /health is up",
    base: "swift",
    differences: json("/health", (body) => ({ ...body, status: "up" })),
  },
  { rule: "SYS-2", what: "/health depends on the mail server", base: "swift", differences: probing("mail") },
  {
    rule: "SYS-3",
    what: "/ready returns 203 while all checks pass",
    base: "swift",
    differences: {
      answer(answer) {
        if (answer.path === "/ready" && answer.status === 200 && answer.json()["status"] === "ok")
          answer.status = 203;
      },
    },
  },
  {
    rule: "SYS-4",
    what: "/health returns 503 while the database is down",
    base: "swift",
    differences: probing("orders"),
  },
  {
    rule: "SYS-5",
    what: "/info lists plugins as plain names",
    base: "swift",
    differences: json("/info", (body) => ({ ...body, plugins: ["observability"] })),
  },
  {
    rule: "SYS-6",
    what: "/info exists in prod",
    base: "prod",
    differences: {
      request: (req, res) =>
        req.url === "/info"
          ? answerJson(res, 200, {
              service: "tested",
              version: "1.2.3",
              env: "prod",
              providers: [],
              plugins: [],
            })
          : false,
    },
  },
  {
    rule: "SYS-7",
    what: "/metrics is empty",
    base: "prod",
    differences: {
      answer(answer) {
        if (answer.path === "/metrics") answer.status = 204;
      },
    },
    unjudged: ["MET-1", "MET-10", "MET-2", "MET-3", "MET-4", "MET-5", "MET-6", "MET-7", "MET-8", "MET-9"],
  },
  {
    rule: "SYS-8",
    what: "/health is sent as text/plain",
    base: "swift",
    differences: {
      answer(answer) {
        if (answer.path === "/health" && answer.status === 200) answer.setText(answer.text(), "text/plain");
      },
    },
  },
  {
    rule: "VER-1",
    what: "/info reports another version than /health",
    base: "swift",
    differences: json("/info", (body) => ({ ...body, version: "0.0.1" })),
  },
  {
    rule: "ENV-1",
    what: "log lines contain another service name",
    base: "swift",
    differences: { log: (line) => ({ ...line, service: "node" }) },
  },
  {
    rule: "ENV-2",
    what: "the environment is called production",
    base: "swift",
    differences: json("/health", (body) => ({ ...body, env: "production" })),
  },
  {
    rule: "EDGE-1",
    what: "X-Forwarded-Host of any client is used in links",
    base: "swift",
    differences: {
      answer(answer, req) {
        const host = req.headers["x-forwarded-host"];
        if (typeof host === "string") answer.res.setHeader("Link", `<http://${host}/>; rel=self`);
      },
    },
  },
  {
    rule: "EDGE-3",
    what: "the list of trusted hosts is ignored",
    base: "trusting",
    differences: {
      request(req) {
        if (req.headers.host === "stranger.example") req.headers.host = "127.0.0.1";
      },
    },
  },
  {
    rule: "EDGE-4",
    what: "CORS allows every origin",
    base: "swift",
    differences: { answer: ({ res }) => void res.setHeader("Access-Control-Allow-Origin", "*") },
  },
  {
    rule: "EDGE-6",
    what: "HTML pages have no Content-Security-Policy",
    base: "swift",
    differences: {
      head(res) {
        if (String(res.getHeader("content-type")).includes("html"))
          res.removeHeader("content-security-policy");
      },
    },
  },
  {
    rule: "EDGE-7",
    what: "JSON responses have no X-Content-Type-Options",
    base: "swift",
    differences: {
      head(res) {
        if (String(res.getHeader("content-type")).includes("json"))
          res.removeHeader("x-content-type-options");
      },
    },
  },
  {
    rule: "PROF-2",
    what: "the reduced profile issues tokens",
    base: "reduced",
    differences: {
      request: (req, res) =>
        req.url === "/auth/refresh" ? answerJson(res, 200, { access_token: "x", refresh_token: "y" }) : false,
    },
  },
];
