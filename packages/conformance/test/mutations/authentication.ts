import type { ServerResponse } from "node:http";
import { contextOf, type Principal } from "@svc/context";
import { scopes } from "../support/service-under-test.ts";
import {
  bearerOf,
  isSigned,
  openToken,
  type OpenToken,
  overlooking,
  setBearer,
} from "../support/token-repair.ts";
import type { Mutation } from "../mutations.ts";

const now = (): number => Math.floor(Date.now() / 1000);

function overlook(
  heal: (token: OpenToken) => boolean,
  options?: { signed: boolean },
): Mutation["differences"] {
  return { request: overlooking(heal, options) };
}

/** Does something to a claim when its value fits. */
function claim(name: string, fits: (value: unknown) => boolean, value: unknown): Mutation["differences"] {
  return overlook(({ claims }) => {
    if (!fits(claims[name])) return false;
    claims[name] = typeof value === "function" ? (value as () => unknown)() : value;
    return true;
  });
}

const isMissing = (value: unknown): boolean => value === undefined;
const later = (): number => now() + 600;
const isBetween = (value: unknown, from: number, to: number): boolean =>
  typeof value === "number" && value > now() + from && value < now() + to;

/** Changes the caller that the service has found. */
function principals(change: (principal: Principal) => Partial<Principal>): Mutation["differences"] {
  return {
    middleware(req, _res, next) {
      const context = contextOf(req);
      if (context?.principal !== undefined) {
        context.principal = { ...context.principal, ...change(context.principal) };
      }
      next();
    },
  };
}

/** Refuses tokens that a sound service takes. */
function refusing(fits: (token: OpenToken) => boolean): Mutation["differences"] {
  return {
    request(req) {
      const raw = bearerOf(req);
      const token = raw === undefined ? undefined : openToken(raw);
      if (raw !== undefined && token !== undefined && isSigned(raw) && fits(token)) setBearer(req, undefined);
    },
  };
}

function problem(res: ServerResponse, status: number, title: string): void {
  res.statusCode = status;
  res.setHeader("Content-Type", "application/problem+json");
  res.end(
    JSON.stringify({
      type: "about:blank",
      title,
      status,
      detail: "authentication required",
      instance: res.req.url?.split("?", 1)[0],
      request_id: contextOf(res.req)?.requestId,
    }),
  );
}

const isRefresh = ({ claims }: OpenToken): boolean => claims["typ"] === "refresh";

export const authenticationMutations: readonly Mutation[] = [
  {
    rule: "AUTH-1",
    what: "garbage in Authorization is refused although authentication is off",
    base: "anonymous",
    differences: {
      middleware(req, res, next) {
        if (req.headers.authorization === undefined) next();
        else problem(res, 401, "Unauthorized");
      },
    },
  },
  {
    rule: "AUTH-3",
    what: "any algorithm of the key's type is taken",
    base: "full",
    differences: overlook(
      ({ header }) => {
        if (!/^[RP]S(?:256|384|512)$/.test(String(header["alg"])) || header["alg"] === "RS256") return false;
        return header["alg"] !== "PS256";
      },
      { signed: false },
    ),
  },
  {
    rule: "AUTH-3",
    what: "the algorithm comes from the token: HS256 with the public key",
    base: "full",
    differences: overlook(
      ({ header }) => {
        if (header["alg"] !== "HS256") return false;
        header["alg"] = "RS256";
        return true;
      },
      { signed: false },
    ),
  },
  {
    rule: "AUTH-4",
    what: "alg none is taken",
    base: "full",
    differences: overlook(
      ({ header }) => {
        if (header["alg"] !== "none") return false;
        header["alg"] = "RS256";
        return true;
      },
      { signed: false },
    ),
  },
  {
    rule: "AUTH-4",
    what: "alg nOnE is taken",
    base: "reduced",
    differences: overlook(
      ({ header }) => {
        if (header["alg"] !== "nOnE") return false;
        header["alg"] = "HS256";
        return true;
      },
      { signed: false },
    ),
  },
  {
    rule: "AUTH-6",
    what: "aud is not looked at",
    base: "full",
    differences: claim(
      "aud",
      (value) => value !== "tested" && typeof value !== "number" && !Array.isArray(value),
      "tested",
    ),
  },
  {
    rule: "AUTH-6",
    what: "iss may be missing",
    base: "full",
    differences: claim("iss", isMissing, "https://issuer.example"),
  },
  {
    rule: "AUTH-6",
    what: "iss is not compared",
    base: "reduced",
    differences: claim("iss", (value) => String(value).endsWith("/other"), "https://issuer.example"),
  },
  {
    rule: "AUTH-8",
    what: "exp is not looked at",
    base: "full",
    differences: claim("exp", (value) => isBetween(value, -100_000, 0), later),
    unjudged: ["AUTH-30"],
  },
  {
    rule: "AUTH-8",
    what: "nbf is not looked at",
    base: "full",
    differences: claim("nbf", (value) => isBetween(value, 30, 1000), now),
  },
  {
    rule: "AUTH-8",
    what: "the leeway is 60 s",
    base: "prod",
    differences: {
      toml: [['mode = "public_key"', 'mode = "public_key"\nleeway = 60']],
    },
    unjudged: ["AUTH-30", "AUTH-29"],
  },
  {
    rule: "AUTH-8",
    what: "there is no leeway",
    base: "full",
    differences: refusing(({ claims }) => isBetween(claims["exp"], -29, 0)),
  },
  ...["exp", "iat", "sub"].map((name): Mutation => ({
    rule: "AUTH-9",
    what: `${name} may be missing`,
    base: name === "iat" ? "reduced" : "full",
    differences: claim(name, isMissing, { exp: later, iat: now, sub: "somebody" }[name]),
  })),
  {
    rule: "AUTH-10",
    what: "a refresh token is a bearer token",
    base: "full",
    differences: overlook((token) => {
      if (!isRefresh(token)) return false;
      delete token.claims["typ"];
      return true;
    }),
  },
  {
    rule: "AUTH-11",
    what: "the 401 says that the token has expired",
    base: "full",
    differences: {
      request(req) {
        const raw = bearerOf(req);
        Object.assign(req, {
          late: raw !== undefined && isBetween(openToken(raw)?.claims["exp"], -100_000, 0),
        });
      },
      answer(answer, req) {
        if (answer.status === 401 && "late" in req && req.late === true) {
          answer.setJson({ ...answer.json(), detail: "the token has expired" });
        }
      },
    },
  },
  {
    rule: "AUTH-11",
    what: "WWW-Authenticate names the claim that is missing",
    base: "full",
    differences: {
      request(req) {
        const raw = bearerOf(req);
        Object.assign(req, { nameless: raw !== undefined && openToken(raw)?.claims["sub"] === undefined });
      },
      answer(answer, req) {
        if (
          answer.status === 401 &&
          "nameless" in req &&
          req.nameless === true &&
          bearerOf(req) !== undefined
        ) {
          answer.res.setHeader(
            "WWW-Authenticate",
            'Bearer error="invalid_token", error_description="no sub"',
          );
        }
      },
    },
  },
  {
    rule: "AUTH-12",
    what: "a bad token is refused on an open route",
    base: "full",
    differences: {
      middleware(req, res, next) {
        const bad = req.headers.authorization !== undefined && contextOf(req)?.principal === undefined;
        if (bad && req.url === "/open") problem(res, 401, "Unauthorized");
        else next();
      },
    },
  },
  {
    rule: "AUTH-13",
    what: "403 without a caller",
    base: "full",
    differences: {
      answer(answer) {
        if (answer.status !== 401 || answer.path.endsWith("/tenant")) return;
        answer.status = 403;
        answer.res.removeHeader("www-authenticate");
        answer.setJson({ ...answer.json(), status: 403, title: "Forbidden" });
      },
    },
    unjudged: ["ERR-12"],
  },
  {
    rule: "AUTH-13",
    what: "401 for a caller without the scopes",
    base: "full",
    differences: {
      answer(answer) {
        if (answer.status !== 403 || answer.path !== "/orders") return;
        answer.status = 401;
        answer.setJson({ ...answer.json(), status: 401, title: "Unauthorized" });
      },
    },
    unjudged: ["ERR-13"],
  },
  {
    rule: "AUTH-13",
    what: "a 403 that does not name the missing scopes",
    base: "full",
    differences: {
      answer(answer) {
        if (answer.status !== 403 || answer.path !== "/orders") return;
        const { missing_scopes: _missing, ...rest } = answer.json();
        answer.setJson({ ...rest, detail: "not allowed" });
      },
    },
    unjudged: ["ERR-13"],
  },
  {
    rule: "AUTH-14",
    what: "a caller without any scope is nobody",
    base: "jwks",
    differences: {
      middleware(req, _res, next) {
        const context = contextOf(req);
        const held = context?.principal;
        if (
          req.url === "/mine" &&
          held?.scopes.length === 0 &&
          held.roles.length === 0 &&
          context !== undefined
        ) {
          context.principal = undefined;
        }
        next();
      },
    },
  },
  {
    rule: "AUTH-15",
    what: "any one of the scopes is enough",
    base: "full",
    differences: principals(({ scopes: held }) => ({ scopes: held.length > 0 ? scopes : held })),
  },
  {
    rule: "AUTH-16",
    what: "only the first role is looked at",
    base: "full",
    differences: principals(({ roles: held }) => ({
      roles: held.length === 2 && held.includes("auditor") && held.includes("other") ? [] : held,
    })),
  },
  {
    rule: "AUTH-17",
    what: "the mixed route needs a caller",
    base: "full",
    differences: {
      middleware(req, res, next) {
        if (req.url === "/mixed" && contextOf(req)?.principal === undefined)
          problem(res, 401, "Unauthorized");
        else next();
      },
    },
  },
  {
    rule: "AUTH-20",
    what: "tokens of any length",
    base: "full",
    differences: claim("pad", (value) => typeof value === "string", undefined),
  },
  {
    rule: "AUTH-21",
    what: "padding is taken",
    base: "full",
    differences: {
      request(req) {
        const raw = bearerOf(req);
        if (raw?.endsWith("=") === true) setBearer(req, raw.slice(0, -1));
      },
    },
  },
  {
    rule: "AUTH-21",
    what: "bytes that are not UTF-8 are replaced",
    base: "reduced",
    differences: overlook((token) => String(token.claims["x"]).includes("\uFFFD")),
  },
  {
    rule: "AUTH-22",
    what: "a kid of any length",
    base: "full",
    differences: overlook(({ header }) => {
      if (String(header["kid"]).length <= 256) return false;
      delete header["kid"];
      return true;
    }),
  },
  {
    rule: "AUTH-23",
    what: "an exp that never comes",
    base: "full",
    differences: claim("exp", (value) => typeof value === "number" && value > 8.64e12, later),
  },
  {
    rule: "AUTH-24",
    what: "crit is overlooked",
    base: "full",
    differences: overlook(({ header }) => {
      if (header["crit"] === undefined) return false;
      delete header["crit"];
      return true;
    }),
  },
  {
    rule: "AUTH-26",
    what: "PS256 is configured and not known",
    base: "full",
    differences: refusing(({ header }) => header["alg"] === "PS256"),
  },
  {
    rule: "AUTH-27",
    what: "scopes are read from a text only",
    base: "full",
    differences: overlook(({ claims }) => {
      if (!Array.isArray(claims["scope"])) return false;
      delete claims["scope"];
      return true;
    }),
  },
  {
    rule: "AUTH-28",
    what: "a number is taken as sub",
    base: "full",
    differences: claim("sub", (value) => typeof value === "number", "7"),
  },
  {
    rule: "AUTH-28",
    what: "dates are read from texts",
    base: "reduced",
    differences: overlook(({ claims }) => {
      const texts = ["exp", "iat", "nbf"].filter((name) => typeof claims[name] === "string");
      for (const name of texts) claims[name] = Number(claims[name]);
      return texts.length > 0;
    }),
  },
  {
    rule: "AUTH-29",
    what: "an iat in the future is taken",
    base: "full",
    differences: claim("iat", (value) => isBetween(value, 30, 1000), now),
  },
  {
    rule: "AUTH-30",
    what: "a token is taken when its exp is exactly at the leeway",
    base: "full",
    differences: claim("exp", (value) => isBetween(value, -33, -27), later),
  },
  {
    rule: "AUTH-33",
    what: "a token in the query is taken",
    base: "full",
    differences: {
      request(req) {
        const token = /[?&]access_token=([^&]+)/.exec(req.url ?? "")?.[1];
        if (token !== undefined) setBearer(req, token);
      },
    },
  },
  {
    rule: "CLAIM-1",
    what: "rights are read from scope, whatever the claim is called",
    base: "reduced",
    differences: overlook(({ claims }) => {
      if (claims["scope"] === undefined) return false;
      claims["permissions"] = claims["scope"];
      return true;
    }),
  },
  {
    rule: "CLAIM-4",
    what: "a token with typ access is taken for a foreign one",
    base: "full",
    differences: refusing(({ claims }) => claims["typ"] === "access"),
  },
  {
    rule: "CLAIM-5",
    what: "rights are read from grt",
    base: "full",
    differences: overlook(({ claims }) => {
      const grt = claims["grt"] as { scopes: readonly string[] } | undefined;
      if (grt === undefined || claims["typ"] === "refresh") return false;
      claims["scope"] = grt.scopes;
      return true;
    }),
  },
];
