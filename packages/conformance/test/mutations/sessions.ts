import { bearerOf, openToken, setBearer, signToken } from "../support/token-repair.ts";
import type { Mutation } from "./mutation.ts";
import { answerJson, json } from "./report-changes.ts";
import {
  callerOf,
  changing,
  claims,
  dressed,
  during,
  isLogout,
  refreshed,
  store,
} from "./session-changes.ts";

export const sessionMutations = (): readonly Mutation[] => [
  {
    rule: "CLAIM-3",
    what: "the access token names another session than the refresh token",
    base: "issuing",
    differences: claims("access", (all) => (all["fam"] = `other-${String(all["fam"])}`)),
  },
  {
    rule: "CLAIM-3",
    what: "tokens have no fam",
    base: "issuing",
    differences: dressed(({ claims: all }) => delete all["fam"]),
    unjudged: ["ISS-3"],
  },
  {
    rule: "ISS-3",
    what: "all sign-ins of a user share one session",
    base: "issuing",
    differences: dressed(({ claims: all }) => {
      all["fam"] = "the-session-of-another-user";
      return true;
    }),
  },
  {
    rule: "ISS-4",
    what: "the first access token is valid for an hour",
    base: "issuing",
    differences: claims("access", (all, isRefreshed) => {
      if (!isRefreshed) all["exp"] = Number(all["iat"]) + 3600;
    }),
  },
  {
    rule: "ISS-4",
    what: "refresh tokens are valid for a year",
    base: "issuing",
    differences: claims("refresh", (all) => (all["exp"] = Number(all["iat"]) + 31_536_000)),
  },
  {
    rule: "ISS-10",
    what: "a refresh renews auth_time",
    base: "issuing",
    differences: dressed(({ claims: all }, _kind, isRefreshed) => {
      if (isRefreshed) all["auth_time"] = all["iat"];
      return isRefreshed;
    }),
  },
  {
    rule: "ISS-10",
    what: "tokens have no nbf",
    base: "issuing",
    differences: claims("access", (all) => delete all["nbf"]),
  },
  {
    rule: "ISS-11",
    what: "refresh tokens contain a scope claim",
    base: "issuing",
    differences: claims("refresh", (all) => (all["scope"] = "orders:read")),
  },
  {
    rule: "ISS-11",
    what: "access tokens contain grt",
    base: "issuing",
    differences: claims("access", (all) => (all["grt"] = { scopes: [], roles: [] })),
  },
  {
    rule: "ISS-12",
    what: "tokens have no kid while the set has a single key",
    base: "ring",
    differences: dressed(({ header }) => header["alg"] === "RS256" && delete header["kid"]),
    unjudged: ["ISS-15", "KEY-3"],
  },
  {
    rule: "REF-2",
    what: "the response to a refresh is cacheable",
    base: "issuing",
    differences: {
      head: (res, req) => void (req.url === "/auth/refresh" && res.setHeader("Cache-Control", "private")),
    },
  },
  {
    rule: "REF-2",
    what: "expires_in is in milliseconds",
    base: "issuing",
    differences: refreshed((body) => (body["expires_in"] = 900_000)),
  },
  {
    rule: "REF-3",
    what: "a refresh keeps only one scope",
    base: "issuing",
    differences: claims("access", (all, isRefreshed) => {
      if (isRefreshed) all["scope"] = String(all["scope"]).split(" ").at(-1);
    }),
  },
  {
    rule: "REF-3",
    what: "a refresh adds the role of an administrator",
    base: "issuing",
    differences: claims("access", (all, isRefreshed) => {
      const isPlain = String(all["scope"]).includes(" ");
      if (isRefreshed && isPlain) all["roles"] = ["root", ...(all["roles"] as string[])];
    }),
  },
  {
    rule: "ISS-9",
    what: "the lists of /auth/me are not sorted",
    base: "issuing",
    differences: json("/auth/me", (body) => ({ ...body, scopes: (body["scopes"] as string[]).reverse() })),
  },
  {
    rule: "ISS-9",
    what: "/auth/me calls the subject sub",
    base: "issuing",
    differences: json("/auth/me", ({ subject, ...body }) => ({ ...body, sub: subject })),
  },
  {
    rule: "ISS-5",
    what: "a logout has no effect",
    base: "issuing",
    // During the outage the sound service handles the logout, so that only ISS-5 fails.
    differences: during("/store/break", "/store/restore", (isOut) => ({
      request(req, res) {
        const { fam, typ } = callerOf(req);
        if (isOut() || !isLogout(req) || fam === undefined || typ === "refresh") return false;
        res.writeHead(204).end();
        return true;
      },
    })),
    unjudged: ["REV-11"],
  },
  {
    rule: "ISS-5",
    what: "a logout revokes only the token, and the session continues",
    base: "issuing",
    differences: {
      request(req) {
        const token = openToken(bearerOf(req) ?? "");
        if (!isLogout(req) || token?.claims["fam"] === undefined) return;
        delete token.claims["fam"];
        setBearer(req, signToken(token));
      },
    },
    unjudged: ["REV-11"],
  },
  {
    rule: "ISS-7",
    what: "a logout ends every session of the user",
    base: "issuing",
    differences: endsAllSessions(),
  },
  {
    rule: "ISS-8",
    what: "a logout returns 200",
    base: "issuing",
    differences: {
      answer(answer) {
        if (answer.path !== "/auth/logout" || answer.status !== 204) return;
        answer.status = 200;
        answer.setJson({ ok: true }, "application/json");
      },
    },
  },
  {
    rule: "ISS-8",
    what: "a logout with a token without jti and fam gets a 400",
    base: "issuing",
    differences: {
      request(req, res) {
        const { jti, fam } = callerOf(req);
        if (!isLogout(req) || bearerOf(req) === undefined || jti !== undefined || fam !== undefined)
          return false;
        return answerJson(res, 400, { detail: "nothing to revoke" });
      },
    },
  },
  {
    rule: "CLAIM-2",
    what: "tokens without a session cannot be revoked",
    base: "issuing",
    differences: {
      request(req, res) {
        if (!isLogout(req) || callerOf(req)["fam"] !== undefined || bearerOf(req) === undefined) return false;
        res.writeHead(204).end();
        return true;
      },
    },
  },
  {
    rule: "ISS-6",
    what: "a logout with a token without fam revokes all such tokens",
    base: "issuing",
    differences: endsAllLoose(),
  },
  {
    rule: "ISS-15",
    what: "the key set contains the private exponent",
    base: "ring",
    differences: changing("/.well-known/jwks.json", 200, (body) => {
      for (const key of body["keys"] as Record<string, unknown>[]) key["d"] = "AQAB";
    }),
    unjudged: ["KEY-3"],
  },
  {
    rule: "ISS-15",
    what: "the key set omits the signing key",
    base: "ring",
    differences: changing("/.well-known/jwks.json", 200, (body) => (body["keys"] = [])),
    unjudged: ["KEY-3"],
  },
  {
    rule: "ISS-15",
    what: "the key set contains the shared secret",
    base: "issuing",
    differences: {
      request(req, res) {
        if (req.url !== "/.well-known/jwks.json") return false;
        return answerJson(res, 200, { keys: [{ kty: "oct", alg: "HS256", k: "YQ" }] });
      },
    },
  },
];

function endsAllSessions(): Mutation["differences"] {
  const families = new Set<string>();
  return {
    answer(answer) {
      if (answer.path !== "/sign-in") return;
      const { tokens } = answer.json() as { readonly tokens: { readonly access_token: string } };
      families.add(String(openToken(tokens.access_token)?.claims["fam"]));
    },
    ...store((sound) => ({
      async revokeFamily(_family, seconds) {
        for (const each of families) await sound.revokeFamily(each, seconds);
      },
    })),
  };
}

function endsAllLoose(): Mutation["differences"] {
  const seen = new Set<string>();
  return store((sound) => ({
    isRevoked(token) {
      if (token.fam === undefined && token.jti !== undefined) seen.add(token.jti);
      return sound.isRevoked(token);
    },
    async revoke(jti, seconds) {
      for (const each of seen.has(jti) ? seen : [jti]) await sound.revoke(each, seconds);
    },
  }));
}
