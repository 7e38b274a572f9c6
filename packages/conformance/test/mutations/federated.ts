import type { ServerResponse } from "node:http";
import type { Mutation } from "./mutation.ts";
import { answerJson } from "./report-changes.ts";

const start = "/auth/example/start";
const callback = "/auth/example/callback";

function pathOf(url: string | undefined): string {
  return url?.split("?", 1)[0] ?? "";
}

/** Changes a header in the responses of one path. */
function header(
  path: string,
  name: string,
  change: (values: readonly string[]) => string | readonly string[],
): Mutation["differences"] {
  return {
    head(res: ServerResponse, req) {
      if (pathOf(req.url) !== path) return;
      const values = [res.getHeader(name) ?? []].flat().map(String);
      if (values.length === 0) return;
      const changed = change(values);
      if (changed.length === 0) res.removeHeader(name);
      else res.setHeader(name, changed);
    },
  };
}

/** Changes the cookies that the start of a sign-in sets. */
function cookie(change: (line: string) => string): Mutation["differences"] {
  return header(start, "Set-Cookie", (lines) => lines.map(change));
}

/** Changes the redirect target of the start of a sign-in. */
function location(change: (to: URL) => void): Mutation["differences"] {
  return header(start, "Location", ([value = ""]) => {
    const to = new URL(value);
    change(to);
    return to.href;
  });
}

const isDeletion = (line: string): boolean => line.includes("Max-Age=0");

export const federatedMutations = (): readonly Mutation[] => [
  {
    rule: "OIDC-1",
    what: "the callback route does not exist",
    base: "ring",
    differences: {
      request: (req, res) => pathOf(req.url) === callback && answerJson(res, 404, { detail: "not here" }),
    },
    unjudged: ["OIDC-12", "OIDC-7"],
  },
  {
    rule: "OIDC-2",
    what: "start redirects to a page that is not the provider's",
    base: "ring",
    differences: location((to) => (to.pathname = "/welcome")),
  },
  {
    rule: "OIDC-2",
    what: "redirect_uri is not the callback route",
    base: "ring",
    differences: location((to) => to.searchParams.set("redirect_uri", "https://tested.example/back")),
  },
  {
    rule: "OIDC-3",
    what: "the redirect has the status 303",
    base: "ring",
    differences: {
      answer(answer) {
        if (answer.path === start && answer.status === 302) answer.status = 303;
      },
    },
  },
  {
    rule: "OIDC-3",
    what: "the authorization request has no nonce",
    base: "ring",
    differences: location((to) => to.searchParams.delete("nonce")),
  },
  {
    rule: "OIDC-3",
    what: "the code challenge equals the code verifier",
    base: "ring",
    differences: location((to) => to.searchParams.set("code_challenge_method", "plain")),
  },
  {
    rule: "OIDC-3",
    what: "all attempts share one code challenge",
    base: "ring",
    differences: location((to) => to.searchParams.set("code_challenge", "a".repeat(43))),
  },
  {
    rule: "OIDC-4",
    what: "scripts can read the cookie",
    base: "ring",
    differences: cookie((line) => line.replace("; HttpOnly", "")),
  },
  {
    rule: "OIDC-4",
    what: "the cookie is sent with requests from other sites",
    base: "ring",
    differences: cookie((line) => line.replace("SameSite=Lax", "SameSite=None")),
  },
  {
    rule: "OIDC-4",
    what: "the cookie is not Secure in staging",
    base: "ring",
    differences: cookie((line) => line.replace("; Secure", "")),
  },
  {
    rule: "OIDC-5",
    what: "a sign-in attempt is valid for a day",
    base: "ring",
    differences: cookie((line) => line.replace("Max-Age=600", "Max-Age=86400")),
  },
  {
    rule: "OIDC-5",
    what: "the number of concurrent attempts is unlimited",
    base: "ring",
    differences: header(start, "Set-Cookie", (lines) => lines.filter((line) => !isDeletion(line))),
  },
  {
    rule: "OIDC-6",
    what: "the cookie contains the state in readable form",
    base: "ring",
    differences: readable(),
  },
  {
    rule: "OIDC-7",
    what: "the cookie of a failed attempt is not deleted",
    base: "ring",
    differences: header(callback, "Set-Cookie", () => []),
  },
  {
    rule: "OIDC-8",
    what: "start redirects to any return_to",
    base: "ring",
    differences: {
      request(req, res) {
        const to = new URL(req.url ?? "/", "http://here").searchParams.get("return_to");
        if (pathOf(req.url) !== start || to === null) return false;
        res.writeHead(302, { Location: to }).end();
        return true;
      },
    },
  },
  {
    rule: "OIDC-12",
    what: "an unknown provider gets a 400",
    base: "ring",
    differences: {
      request: (req, res) =>
        /^\/auth\/svc\w+\/(?:start|callback)/.test(req.url ?? "") &&
        answerJson(res, 400, { detail: "whose?" }),
    },
  },
  {
    rule: "OIDC-12",
    what: "a callback without a sign-in attempt gets a 400",
    base: "ring",
    differences: {
      answer(answer) {
        if (answer.path === callback && answer.status === 401) answer.status = 400;
      },
    },
  },
];

/** Appends the state to the sealed cookie in readable form, and removes it from the cookies of requests. */
function readable(): Mutation["differences"] {
  return {
    head(res, req) {
      if (pathOf(req.url) !== start) return;
      const to = URL.parse(String(res.getHeader("Location") ?? ""));
      const state = Buffer.from(to?.searchParams.get("state") ?? "").toString("base64url");
      const lines = [res.getHeader("Set-Cookie") ?? []].flat().map(String);
      res.setHeader(
        "Set-Cookie",
        lines.map((line) => (isDeletion(line) ? line : line.replace(";", `.${state};`))),
      );
    },
    request(req) {
      if (req.headers.cookie !== undefined)
        req.headers.cookie = req.headers.cookie.replaceAll(/\.[^;]*/g, "");
    },
  };
}
