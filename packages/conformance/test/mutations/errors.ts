import type { HeldAnswer } from "../support/mutating-layer.ts";
import type { Mutation } from "./mutation.ts";

/** Changes the problem documents of responses for which `fits` returns true. */
function problems(
  fits: (answer: HeldAnswer) => boolean,
  change: (problem: Record<string, unknown>, answer: HeldAnswer) => Record<string, unknown> | void,
): Mutation["differences"] {
  return {
    answer(answer) {
      if (answer.status < 400 || !fits(answer) || answer.path === "/ready") return;
      const problem = answer.json();
      answer.setJson(change(problem, answer) ?? problem, "application/problem+json");
    },
  };
}

const status =
  (...codes: readonly number[]) =>
  (answer: HeldAnswer): boolean =>
    codes.includes(answer.status);

/** Replaces the status and title of responses for which `from` returns true. */
function instead(from: (answer: HeldAnswer) => boolean, to: number, title: string): Mutation["differences"] {
  return problems(from, (problem, answer) => {
    answer.status = to;
    return { ...problem, status: to, title };
  });
}

export const errorMutations = (): readonly Mutation[] => [
  {
    rule: "ERR-1",
    what: "a 404 has a plain-text body",
    base: "swift",
    differences: {
      answer(answer) {
        if (answer.status === 404) answer.setText("Cannot GET", "text/html; charset=utf-8");
      },
    },
    unjudged: [],
  },
  {
    rule: "ERR-1",
    what: "problems are sent as application/json",
    base: "swift",
    differences: {
      answer(answer) {
        if (answer.status >= 400 && answer.path !== "/ready")
          answer.setText(answer.text(), "application/json");
      },
    },
  },
  {
    rule: "ERR-2",
    what: "the title repeats the detail",
    base: "swift",
    differences: problems(status(404, 500), (problem) => ({ ...problem, title: problem["detail"] })),
  },
  {
    rule: "ERR-2",
    what: "a 404 has no instance",
    base: "swift",
    differences: problems(status(404), ({ instance: _instance, ...rest }) => rest),
  },
  {
    rule: "ERR-2",
    what: "the request_id of a problem differs from X-Request-ID",
    base: "swift",
    differences: problems(status(404, 403), (problem) => ({ ...problem, request_id: "0" })),
  },
  {
    rule: "ERR-3",
    what: "the title of a 413 is Content Too Large",
    base: "swift",
    differences: problems(status(413), (problem) => ({ ...problem, title: "Content Too Large" })),
  },
  {
    rule: "ERR-4",
    what: "instance contains the query",
    base: "swift",
    differences: problems(status(404), (problem) => ({
      ...problem,
      instance: `${String(problem["instance"])}?a=1`,
    })),
  },
  {
    rule: "ERR-5",
    what: "413 and 415 have no request_id",
    base: "swift",
    differences: problems(status(413, 415), ({ request_id: _id, ...rest }) => rest),
  },
  {
    rule: "ERR-6",
    what: "extension members are in `extensions`",
    base: "swift",
    differences: problems(status(404), (problem) => ({ ...problem, extensions: { code: "not_found" } })),
  },
  {
    rule: "ERR-7",
    what: "the message of an exception reaches the client",
    base: "swift",
    differences: { toml: [["port = 0", "port = 0\ndebug = true"]] },
    unjudged: ["ERR-8"],
  },
  {
    rule: "ERR-8",
    what: "the 500 for an exception has the detail `Something went wrong`",
    base: "swift",
    differences: problems(status(500), (problem) => ({ ...problem, detail: "Something went wrong" })),
  },
  {
    rule: "ERR-9",
    what: "an unsupported method gets a 404",
    base: "swift",
    differences: instead(status(405), 404, "Not Found"),
    unjudged: ["ERR-10"],
  },
  {
    rule: "ERR-10",
    what: "a 405 has no Allow header",
    base: "swift",
    differences: {
      answer(answer) {
        if (answer.status === 405) answer.res.removeHeader("allow");
      },
    },
  },
  {
    rule: "ERR-11",
    what: "an unknown path gets a 400",
    base: "swift",
    differences: instead(
      (answer) => answer.status === 404 && answer.path.startsWith("/svc"),
      400,
      "Bad Request",
    ),
  },
  {
    rule: "ERR-12",
    what: "a 401 has no WWW-Authenticate header",
    base: "swift",
    differences: {
      answer(answer) {
        if (answer.status === 401) answer.res.removeHeader("www-authenticate");
      },
    },
  },
  {
    rule: "ERR-13",
    what: "a 403 has no missing_scopes",
    base: "swift",
    differences: problems(status(403), ({ missing_scopes: _missing, ...rest }) => rest),
  },
  {
    rule: "ERR-14",
    what: "a 403 does not name the missing role",
    base: "swift",
    differences: problems(
      (answer) => answer.status === 403 && answer.path === "/admin",
      (problem) => ({ ...problem, detail: "not allowed" }),
    ),
  },
  {
    rule: "ERR-15",
    what: "an invalid body gets a 400",
    base: "swift",
    differences: instead(status(422), 400, "Bad Request"),
    unjudged: ["ERR-16", "ERR-17"],
  },
  {
    rule: "ERR-16",
    what: "the errors of a 422 are strings",
    base: "swift",
    differences: problems(status(422), (problem) => ({ ...problem, errors: ["name is too long"] })),
  },
  {
    rule: "ERR-17",
    what: "a 422 repeats the whole input",
    base: "swift",
    differences: problems(status(422), (problem) => {
      const [first] = problem["errors"] as Record<string, unknown>[];
      if (String(first?.["input"]).length > 100 && first !== undefined) first["input"] = "z".repeat(5000);
    }),
  },
  {
    rule: "ERR-18",
    what: "an unsupported content type gets a 400",
    base: "swift",
    differences: instead(status(415), 400, "Bad Request"),
  },
  {
    rule: "ERR-19",
    what: "the 400 repeats the malformed JSON",
    base: "swift",
    differences: problems(
      (answer) => answer.status === 400 && answer.path === "/json",
      (problem) => ({ ...problem, detail: `${String(problem["detail"])} in {"a": "svc-conformance-mark"` }),
    ),
  },
  {
    rule: "ERR-21",
    what: "a request that is not HTTP gets Node's bare 400",
    base: "swift",
    differences: { server: (server) => void server.removeAllListeners("clientError") },
  },
  {
    rule: "LIM-1",
    what: "a body over the limit gets a 400",
    base: "swift",
    differences: instead(status(413), 400, "Bad Request"),
  },
  {
    rule: "LIM-2",
    what: "the body is read before its length is checked",
    base: "swift",
    differences: {
      async request(req) {
        const length = Number(req.headers["content-length"] ?? 0);
        if (length > 65_536) await new Promise((done) => req.once("readable", done));
        return false;
      },
    },
  },
  {
    rule: "LIM-3",
    what: "the length of a chunked body is checked only when the body is complete",
    base: "swift",
    differences: {
      async request(req) {
        // Never respond to a chunked body: the kit does not complete it, so wait until it gives up.
        if (req.headers["transfer-encoding"] === "chunked")
          await new Promise((done) => req.once("aborted", done));
        return req.headers["transfer-encoding"] === "chunked";
      },
    },
  },
  {
    rule: "LIM-4",
    what: "a slow request gets a 503",
    base: "swift",
    differences: instead(status(504), 503, "Service Unavailable"),
  },
  {
    rule: "LIM-5",
    what: "the request timeout aborts a response that has started",
    base: "swift",
    differences: {
      request(req) {
        if (req.url?.startsWith("/streaming") === true) setTimeout(() => req.socket.destroy(), 1000);
      },
    },
  },
];
