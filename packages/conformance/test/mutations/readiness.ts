import type { Mutation } from "./mutation.ts";
import { brokenOnes, json } from "./report-changes.ts";

/** Changes every check result of `/ready`. */
function results(change: (result: Record<string, unknown>, name: string) => void): Mutation["differences"] {
  return json("/ready", (body) => {
    for (const [name, result] of Object.entries(body["checks"] as Record<string, Record<string, unknown>>)) {
      change(result, name);
    }
  });
}

/** Adds a check with the wrong criticality to the report. */
function withCheck(name: string, critical: boolean): Mutation["differences"] {
  return json("/ready", (body) => {
    const checks = body["checks"] as Record<string, unknown>;
    checks[name] = { healthy: true, status: "ok", detail: "fine", critical };
  });
}

/** Delays `/ready`, as if its checks ran in sequence. */
function inTurn(): Mutation["differences"] {
  const broken = brokenOnes();
  return {
    request: async (req) => {
      broken.note(req.url);
      if (req.url === "/ready" && broken.names.has("maps"))
        await new Promise((done) => setTimeout(done, 2000));
      return false;
    },
  };
}

/** For up to 3 seconds, replaces a 503 of `/ready` with the last response that was not a 503. */
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

export const readinessMutations = (): readonly Mutation[] => [
  {
    rule: "RDY-1",
    what: "the status of /ready is up instead of ok",
    base: "swift",
    differences: json("/ready", (body) => (body["status"] === "ok" ? { ...body, status: "up" } : body)),
  },
  {
    rule: "RDY-2",
    what: "check results omit whether they are critical while all checks pass",
    base: "swift",
    differences: results((result) => {
      if (result["healthy"] === true) delete result["critical"];
    }),
  },
  {
    rule: "RDY-3",
    what: "check results have status up",
    base: "swift",
    differences: results((result) => {
      result["status"] = "up";
    }),
  },
  {
    rule: "RDY-4",
    what: "/ready reports ok while a non-critical dependency is broken",
    base: "swift",
    differences: json("/ready", (body) => (body["status"] === "degraded" ? { ...body, status: "ok" } : body)),
  },
  {
    rule: "RDY-5",
    what: "/ready returns 500 while a critical dependency is down",
    base: "swift",
    differences: {
      answer(answer) {
        if (answer.path === "/ready" && answer.status === 503) answer.status = 500;
      },
    },
    unjudged: ["RDY-6"],
  },
  {
    rule: "RDY-6",
    what: "the 503 of /ready is sent as a problem document",
    base: "swift",
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
    base: "swift",
    differences: results((result) => {
      if (result["status"] === "error") result["critical"] = false;
    }),
  },
  {
    rule: "RDY-8",
    what: "checks run in sequence",
    base: "swift",
    differences: inTurn(),
  },
  {
    rule: "RDY-10",
    what: "results are reused for 3 s",
    base: "swift",
    differences: stale(),
  },
  {
    rule: "RDY-11",
    what: "a timeout is reported as `timed out`",
    base: "swift",
    differences: results((result) => {
      if (result["status"] === "timeout") result["detail"] = "timed out";
    }),
  },
  {
    rule: "RDY-12",
    what: "the result of a check that throws shows the message of the error",
    base: "swift",
    differences: results((result) => {
      if (result["status"] === "error") result["detail"] = "postgres://user:password@db is gone";
    }),
  },
  {
    rule: "RDY-13",
    what: "the check of the database is not critical",
    base: "swift",
    differences: withCheck("database", false),
  },
  {
    rule: "RDY-18",
    what: "the check of the metrics is critical",
    base: "swift",
    differences: withCheck("metrics", true),
  },
];
