import { contextOf } from "@svc/context";
import { scopes } from "../support/service-under-test.ts";
import { bearerOf, isSigned, openToken, setBearer } from "../support/token-repair.ts";
import type { Mutation } from "./mutation.ts";
import { isBetween, isRefresh, overlook, principals, problem } from "./token-changes.ts";

export const authenticationMutations = (): readonly Mutation[] => [
  {
    rule: "AUTH-1",
    what: "malformed Authorization is refused although authentication is off",
    base: "anonymous",
    differences: {
      middleware(req, res, next) {
        if (req.headers.authorization === undefined) next();
        else problem(res, 401, "Unauthorized");
      },
    },
  },
  {
    rule: "AUTH-10",
    what: "a refresh token is accepted as a bearer token",
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
    base: "swift",
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
    what: "WWW-Authenticate names the missing claim",
    base: "swift",
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
    what: "an invalid token is refused on an open route",
    base: "swift",
    differences: {
      middleware(req, res, next) {
        const bad = req.headers.authorization !== undefined && contextOf(req)?.principal === undefined;
        if (bad && req.url === "/open") problem(res, 401, "Unauthorized");
        else next();
      },
    },
  },
  {
    rule: "AUTH-12",
    what: "an Authorization header of another scheme is refused on an open route",
    base: "swift",
    differences: {
      middleware(req, res, next) {
        if (req.headers.authorization === "Basic x" && req.url === "/open") problem(res, 401, "Unauthorized");
        else next();
      },
    },
  },
  {
    rule: "AUTH-13",
    what: "an Authorization header with two words after its scheme gets a 400",
    base: "swift",
    differences: {
      answer(answer, req) {
        if (answer.status !== 401 || req.headers.authorization !== "Bearer a b") return;
        answer.status = 400;
        answer.setJson({ ...answer.json(), status: 400, title: "Bad Request" });
      },
    },
  },
  {
    rule: "AUTH-13",
    what: "an anonymous request to a protected route gets a 403",
    base: "swift",
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
    what: "a caller without the required scopes gets a 401",
    base: "swift",
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
    what: "the 403 does not name the missing scopes",
    base: "swift",
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
    rule: "AUTH-13",
    what: "signatures are not checked",
    base: "reduced",
    // Repair only the signature, so that tokens with other defects and malformed tokens are still refused.
    differences: overlook(
      ({ header, claims, raw }) => {
        const parts = raw.split(".");
        const isHs256 = header["alg"] === "HS256" && !isSigned(raw);
        return isHs256 && parts.length === 3 && claims["iss"] === "https://issuer.example";
      },
      { signed: false },
    ),
    unjudged: [],
  },
  {
    rule: "AUTH-13",
    what: "the key comes from the token's own header",
    base: "full",
    differences: overlook(
      ({ header }) => {
        if (header["jwk"] === undefined) return false;
        delete header["jwk"];
        return true;
      },
      { signed: false },
    ),
  },
  {
    rule: "AUTH-13",
    what: "an expired token gets a 403",
    base: "swift",
    differences: {
      request(req) {
        const raw = bearerOf(req);
        const late = raw !== undefined && isBetween(openToken(raw)?.claims["exp"], -100_000, 0);
        Object.assign(req, { late });
      },
      answer(answer, req) {
        if (answer.status !== 401 || !("late" in req && req.late === true)) return;
        // Change only this response: AUTH-11 compares the responses to other invalid tokens.
        if (bearerOf(req) === undefined) return;
        answer.status = 403;
        answer.setJson({ ...answer.json(), status: 403, title: "Forbidden" });
      },
    },
  },
  {
    rule: "AUTH-11",
    what: "a header of the 401 reveals why the token was refused",
    base: "swift",
    differences: {
      request(req) {
        const raw = bearerOf(req);
        const late = raw !== undefined && isBetween(openToken(raw)?.claims["exp"], -100_000, 0);
        Object.assign(req, { late });
      },
      answer(answer, req) {
        if (answer.status === 401 && "late" in req && req.late === true) {
          answer.res.setHeader("X-Auth-Failure", "expired");
        }
      },
    },
  },
  {
    rule: "AUTH-14",
    what: "a caller without scopes counts as anonymous",
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
    what: "one of the required scopes suffices",
    base: "swift",
    differences: principals(({ scopes: held }) => ({ scopes: held.length > 0 ? scopes : held })),
  },
  {
    rule: "AUTH-16",
    what: "only the first role is checked",
    base: "swift",
    differences: principals(({ roles: held }) => ({
      roles: held.length === 2 && held.includes("auditor") && held.includes("other") ? [] : held,
    })),
  },
  {
    rule: "AUTH-15",
    what: "a scope that contains the name of the required one suffices",
    base: "swift",
    differences: principals(({ scopes: held }) => ({
      scopes: [...held, ...scopes.filter((each) => held.join(" ").includes(each))],
    })),
  },
  {
    rule: "AUTH-16",
    what: "a role that begins with the name of the required one suffices",
    base: "swift",
    differences: principals(({ roles: held }) => ({
      roles: held.some((each) => each.startsWith("admin")) ? ["admin"] : held,
    })),
  },
  {
    rule: "AUTH-17",
    what: "a route for optional callers refuses anonymous requests",
    base: "swift",
    differences: {
      middleware(req, res, next) {
        if (req.url === "/mixed" && contextOf(req)?.principal === undefined)
          problem(res, 401, "Unauthorized");
        else next();
      },
    },
  },
  {
    rule: "AUTH-33",
    what: "a token in the query is accepted",
    base: "swift",
    differences: {
      request(req) {
        const token = /[?&]access_token=([^&]+)/.exec(req.url ?? "")?.[1];
        if (token !== undefined) setBearer(req, token);
      },
    },
  },
];
