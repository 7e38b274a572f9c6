import type { ServerResponse } from "node:http";
import type { Mutation } from "../mutations.ts";

/** Changes the JSON of one path. */
function json(path: string, change: (body: Record<string, unknown>) => unknown): Mutation["differences"] {
  return {
    answer(answer) {
      if (answer.path !== path || (answer.status >= 400 && path !== "/ready")) return;
      const body = answer.json();
      answer.setJson(change(body) ?? body);
    },
  };
}

/** Changes every check result of `/ready`. */
function results(change: (result: Record<string, unknown>, name: string) => void): Mutation["differences"] {
  return json("/ready", (body) => {
    for (const [name, result] of Object.entries(body["checks"] as Record<string, Record<string, unknown>>)) {
      change(result, name);
    }
  });
}

/** Reports a check that is declared with the wrong criticality. */
function withCheck(name: string, critical: boolean): Mutation["differences"] {
  return json("/ready", (body) => {
    const checks = body["checks"] as Record<string, unknown>;
    checks[name] = { healthy: true, status: "ok", detail: "fine", critical };
  });
}

function answerJson(res: ServerResponse, status: number, body: unknown): true {
  res
    .writeHead(status, { "Content-Type": "application/json", "X-Request-ID": "0" })
    .end(JSON.stringify(body));
  return true;
}

/** The dependencies that the requests of the kit have broken so far. */
function brokenOnes(): { readonly names: Set<string>; note(url: string | undefined): void } {
  const names = new Set<string>();
  return {
    names,
    note(url = "") {
      const [, what, name = ""] = /^\/(break|restore)\/(\w+)/.exec(url) ?? [];
      if (what === "break") names.add(name);
      if (what === "restore") names.delete(name);
    },
  };
}

/** `/health` answers 503 while one of these is broken. */
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

/** Each further check costs as much again. */
function inTurn(): Mutation["differences"] {
  const broken = brokenOnes();
  return {
    request: async (req) => {
      broken.note(req.url);
      if (req.url === "/ready" && broken.names.has("maps"))
        await new Promise((done) => setTimeout(done, 1000));
      return false;
    },
  };
}

/** The last answer that was not 503 is shown for too long. */
function stale(): Mutation["differences"] {
  const broken = brokenOnes();
  let shown: { body: string; at: number } | undefined;
  return {
    request: (req) => broken.note(req.url),
    answer(answer) {
      if (answer.path !== "/ready") return;
      if (answer.status !== 503) shown = { body: answer.text(), at: performance.now() };
      else if (broken.names.has("orders") && shown !== undefined && performance.now() - shown.at < 3000) {
        answer.status = 200;
        answer.setText(shown.body, "application/json");
      }
    },
  };
}

export const systemMutations: readonly Mutation[] = [
  {
    rule: "SYS-1",
    what: "/health says status up",
    base: "full",
    differences: json("/health", (body) => ({ ...body, status: "up" })),
  },
  { rule: "SYS-2", what: "/health asks the mail server", base: "full", differences: probing("mail") },
  {
    rule: "SYS-3",
    what: "/ready answers 204 to a probe of a sound service",
    base: "full",
    differences: {
      answer(answer) {
        if (answer.path === "/ready" && answer.status === 200 && answer.json()["status"] === "ok")
          answer.status = 203;
      },
    },
  },
  {
    rule: "SYS-4",
    what: "/health goes down with the database",
    base: "full",
    differences: probing("orders"),
  },
  {
    rule: "SYS-5",
    what: "/info lists plugins as plain names",
    base: "full",
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
    what: "/health is JSON as text/plain",
    base: "full",
    differences: {
      answer(answer) {
        if (answer.path === "/health" && answer.status === 200) answer.setText(answer.text(), "text/plain");
      },
    },
  },
  {
    rule: "VER-1",
    what: "/info reports another version than /health",
    base: "full",
    differences: json("/info", (body) => ({ ...body, version: "0.0.1" })),
  },
  {
    rule: "ENV-1",
    what: "the log has another name of the service",
    base: "full",
    differences: { log: (line) => ({ ...line, service: "node" }) },
  },
  {
    rule: "ENV-2",
    what: "the environment is called production",
    base: "full",
    differences: json("/health", (body) => ({ ...body, env: "production" })),
  },
  {
    rule: "RDY-1",
    what: "/ready says up instead of ok",
    base: "full",
    differences: json("/ready", (body) => (body["status"] === "ok" ? { ...body, status: "up" } : body)),
  },
  {
    rule: "RDY-2",
    what: "check results do not say whether they are critical when all is well",
    base: "full",
    differences: results((result) => {
      if (result["healthy"] === true) delete result["critical"];
    }),
  },
  {
    rule: "RDY-3",
    what: "check results have status up",
    base: "full",
    differences: results((result) => {
      result["status"] = "up";
    }),
  },
  {
    rule: "RDY-4",
    what: "a broken dependency that is not critical leaves the report at ok",
    base: "full",
    differences: json("/ready", (body) => (body["status"] === "degraded" ? { ...body, status: "ok" } : body)),
  },
  {
    rule: "RDY-5",
    what: "/ready answers 500 with a critical dependency down",
    base: "full",
    differences: {
      answer(answer) {
        if (answer.path === "/ready" && answer.status === 503) answer.status = 500;
      },
    },
    unjudged: ["RDY-6"],
  },
  {
    rule: "RDY-6",
    what: "the 503 of /ready is a problem",
    base: "full",
    differences: {
      answer(answer) {
        if (answer.path === "/ready" && answer.status === 503) {
          answer.setJson(answer.json(), "application/problem+json");
        }
      },
    },
  },
  {
    rule: "RDY-7",
    what: "a critical check that throws is reported as not critical",
    base: "full",
    differences: results((result) => {
      if (result["status"] === "error") result["critical"] = false;
    }),
  },
  {
    rule: "RDY-8",
    what: "checks run one after the other",
    base: "full",
    differences: inTurn(),
  },
  {
    rule: "RDY-10",
    what: "results are reused for 3 s",
    base: "full",
    differences: stale(),
  },
  {
    rule: "RDY-11",
    what: "a timeout is reported as `timed out`",
    base: "full",
    differences: results((result) => {
      if (result["status"] === "timeout") result["detail"] = "timed out";
    }),
  },
  {
    rule: "RDY-12",
    what: "a check that throws shows its message",
    base: "full",
    differences: results((result) => {
      if (result["status"] === "error") result["detail"] = "postgres://user:password@db is gone";
    }),
  },
  {
    rule: "RDY-13",
    what: "the check of the database is not critical",
    base: "full",
    differences: withCheck("database", false),
  },
  {
    rule: "RDY-18",
    what: "the check of the metrics is critical",
    base: "full",
    differences: withCheck("metrics", true),
  },
  {
    rule: "EDGE-1",
    what: "X-Forwarded-Host of anybody is believed in redirects",
    base: "full",
    differences: {
      answer(answer, req) {
        const host = req.headers["x-forwarded-host"];
        if (typeof host === "string") answer.res.setHeader("Link", `<http://${host}/>; rel=self`);
      },
    },
  },
  {
    rule: "EDGE-3",
    what: "a list of trusted hosts that nobody looks at",
    base: "trusting",
    differences: {
      request(req) {
        if (req.headers.host === "stranger.example") req.headers.host = "127.0.0.1";
      },
    },
  },
  {
    rule: "EDGE-4",
    what: "CORS allows everybody",
    base: "full",
    differences: { answer: ({ res }) => void res.setHeader("Access-Control-Allow-Origin", "*") },
  },
  {
    rule: "EDGE-6",
    what: "pages go out without their content policy",
    base: "full",
    differences: {
      head(res) {
        if (String(res.getHeader("content-type")).includes("html"))
          res.removeHeader("content-security-policy");
      },
    },
  },
  {
    rule: "EDGE-7",
    what: "JSON goes out without nosniff",
    base: "full",
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
