import { bearerOf, isSigned, openToken, setBearer, signToken } from "../support/token-repair.ts";
import type { Mutation } from "./mutation.ts";
import { answerJson, json } from "./report-changes.ts";
import { overlooked } from "./refreshing.ts";
import { callerOf, claims, dressed, isLogout, refreshed } from "./session-changes.ts";
import { now } from "./token-changes.ts";
import { forgetful } from "./unsound-stores.ts";

/** Services that accept an invalid token at `/auth/refresh`, or reveal too much. */
export const impostorMutations = (): readonly Mutation[] => [
  {
    rule: "REF-1",
    what: "an access token is accepted for a refresh",
    base: "issuing",
    differences: overlooked((all) => {
      const isAccess = all["typ"] === "access";
      if (isAccess) {
        all["typ"] = "refresh";
        all["grt"] = { scopes: String(all["scope"]).split(" "), roles: all["roles"] };
      }
      return isAccess;
    }),
  },
  {
    rule: "REF-1",
    what: "the signature of a refresh token is not checked",
    base: "issuing",
    differences: {
      sessions: {
        refresh: (sound) => (raw, signal) => {
          const token = openToken(raw);
          const isForged = token?.claims["typ"] === "refresh" && !isSigned(raw);
          return sound(isForged ? signToken({ ...token, header: { alg: "HS256" } }) : raw, signal);
        },
      },
    },
  },
  {
    rule: "ISS-4",
    what: "a refresh token never expires",
    base: "issuing",
    differences: overlooked((all) => {
      const isOver = all["typ"] === "refresh" && Number(all["exp"]) < now();
      if (isOver) all["exp"] = now() + 60;
      return isOver;
    }),
  },
  {
    rule: "AUTH-10",
    what: "a refresh token is accepted in the header instead of the body",
    base: "issuing",
    differences: {
      async request(req, res) {
        const token = bearerOf(req);
        if (req.url !== "/auth/refresh" || token === undefined) return false;
        const answer = await fetch(`http://${req.headers.host}/auth/refresh`, {
          method: "POST",
          headers: { "Content-Type": "application/json" },
          body: JSON.stringify({ refresh_token: token }),
        });
        return answerJson(res, answer.status, await answer.json());
      },
    },
  },
  {
    rule: "AUTH-10",
    what: "a refresh token is accepted for a logout",
    base: "issuing",
    differences: {
      request(req) {
        const token = openToken(bearerOf(req) ?? "");
        if (!isLogout(req) || token?.claims["typ"] !== "refresh") return;
        token.claims["typ"] = "access";
        setBearer(req, signToken(token));
      },
    },
  },
  {
    rule: "REF-3",
    what: "a refresh changes the subject",
    base: "issuing",
    differences: claims("access", (all, isRefreshed) => {
      if (isRefreshed) all["sub"] = "another-user";
    }),
  },
  {
    rule: "REF-3",
    what: "a refresh drops the tenant",
    base: "issuing",
    differences: claims("access", (all, isRefreshed) => isRefreshed && delete all["tenant_id"]),
  },
  {
    rule: "REF-3",
    what: "the second refresh drops the scopes",
    base: "issuing",
    differences: losesLater(),
  },
  {
    rule: "ISS-3",
    what: "session ids are sequential numbers",
    base: "issuing",
    differences: counted(),
  },
  {
    rule: "ISS-5",
    what: "a route caches callers and admits them after their logout",
    base: "issuing",
    differences: remembering(),
    unjudged: ["REV-11"],
  },
  {
    rule: "REF-6",
    what: "a replay is detected only for the last used token",
    base: "issuing",
    differences: forgetful(),
    unjudged: ["REF-7", "REV-3"],
  },
  {
    rule: "ISS-9",
    what: "/auth/me shows all claims",
    base: "issuing",
    differences: json("/auth/me", (body) => ({ ...body, claims: { iss: "x" } })),
  },
  {
    rule: "REF-2",
    what: "expires_in is in minutes",
    base: "issuing",
    differences: refreshed((body) => (body["expires_in"] = 15)),
  },
  {
    rule: "REF-13",
    what: "a malformed refresh token gets a 400",
    base: "issuing",
    differences: {
      answer(answer) {
        const body = answer.json();
        if (answer.path !== "/auth/refresh" || body["detail"] !== "invalid refresh token") return;
        answer.status = 400;
        answer.setJson({ ...body, status: 400, title: "Bad Request" });
      },
    },
  },
  {
    rule: "REF-13",
    what: "a refresh token without jti is accepted",
    base: "issuing",
    differences: overlooked((all) => {
      const isBare = all["typ"] === "refresh" && all["jti"] === undefined;
      if (isBare) all["jti"] = "an-id-for-all";
      return isBare;
    }),
  },
];

function losesLater(): Mutation["differences"] {
  const times = new Map<unknown, number>();
  return claims("access", (all, isRefreshed) => {
    if (!isRefreshed) return;
    const count = (times.get(all["fam"]) ?? 0) + 1;
    times.set(all["fam"], count);
    if (count > 1) all["scope"] = "";
  });
}

function counted(): Mutation["differences"] {
  const numbers = new Map<unknown, string>();
  return dressed(({ claims: all }) => {
    const number = numbers.get(all["fam"]) ?? String(numbers.size + 1);
    numbers.set(all["fam"], number);
    all["fam"] = number;
    return true;
  });
}

function remembering(): Mutation["differences"] {
  const known = new Set<string>();
  const ended = new Set<unknown>();
  return {
    request(req, res) {
      const token = bearerOf(req);
      const { fam } = callerOf(req);
      if (token === undefined || fam === undefined) return false;
      if (isLogout(req)) ended.add(fam);
      if (req.url !== "/mine") return false;
      if (!ended.has(fam)) known.add(token);
      return ended.has(fam) && known.has(token) && answerJson(res, 200, { mine: true });
    },
  };
}
