import { bearerOf, setBearer } from "../support/token-repair.ts";
import type { Mutation } from "./mutation.ts";
import { claim, isBetween, isMissing, later, now, overlook, refusing } from "./token-changes.ts";

export const tokenMutations = (): readonly Mutation[] => [
  {
    rule: "AUTH-3",
    what: "any algorithm of the key's type is accepted",
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
    what: "a token signed with HS256 and the public key is accepted",
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
    what: "alg none is accepted",
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
    what: "alg nOnE is accepted",
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
    what: "aud is not checked",
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
    what: "exp is not checked",
    base: "swift",
    differences: claim("exp", (value) => isBetween(value, -100_000, 0), later),
    unjudged: ["AUTH-30"],
  },
  {
    rule: "AUTH-8",
    what: "nbf is not checked",
    base: "swift",
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
    what: "exp is checked without leeway",
    base: "swift",
    differences: refusing(({ claims }) => isBetween(claims["exp"], -29, 0)),
  },
  ...["exp", "iat", "sub"].map((name): Mutation => ({
    rule: "AUTH-9",
    what: `${name} may be missing`,
    base: name === "iat" ? "reduced" : "swift",
    differences: claim(name, isMissing, { exp: later, iat: now, sub: "ann" }[name]),
  })),
  {
    rule: "AUTH-20",
    what: "tokens may have any length",
    base: "swift",
    differences: claim("pad", (value) => typeof value === "string", undefined),
  },
  {
    rule: "AUTH-21",
    what: "padding is accepted",
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
    what: "invalid UTF-8 is replaced instead of rejected",
    base: "reduced",
    differences: overlook((token) => String(token.claims["x"]).includes("\uFFFD")),
  },
  {
    rule: "AUTH-22",
    what: "a kid may have any length",
    base: "swift",
    differences: overlook(({ header }) => {
      if (String(header["kid"]).length <= 256) return false;
      delete header["kid"];
      return true;
    }),
  },
  {
    rule: "AUTH-23",
    what: "an exp beyond any date is accepted",
    base: "swift",
    differences: claim("exp", (value) => typeof value === "number" && value > 8.64e12, later),
  },
  {
    rule: "AUTH-39",
    what: "control characters in jti are accepted",
    base: "swift",
    differences: claim("jti", (value) => typeof value === "string" && /\p{Cc}/u.test(value), "plain"),
  },
  {
    rule: "AUTH-24",
    what: "crit is ignored",
    base: "swift",
    differences: overlook(({ header }) => {
      if (header["crit"] === undefined) return false;
      delete header["crit"];
      return true;
    }),
  },
  {
    rule: "AUTH-26",
    what: "PS256 is configured but not supported",
    base: "full",
    differences: refusing(({ header }) => header["alg"] === "PS256"),
  },
  {
    rule: "AUTH-26",
    what: "the algorithm may be in lower case",
    base: "full",
    differences: overlook(({ header }) => {
      if (header["alg"] !== "rs256") return false;
      header["alg"] = "RS256";
      return true;
    }),
  },
  {
    rule: "AUTH-27",
    what: "scopes are read only from a string",
    base: "swift",
    differences: overlook(({ claims }) => {
      if (!Array.isArray(claims["scope"])) return false;
      delete claims["scope"];
      return true;
    }),
  },
  {
    rule: "AUTH-28",
    what: "a number is accepted as sub",
    base: "swift",
    differences: claim("sub", (value) => typeof value === "number", "7"),
  },
  {
    rule: "AUTH-28",
    what: "timestamps are read from strings",
    base: "reduced",
    differences: overlook(({ claims }) => {
      const texts = ["exp", "iat", "nbf"].filter((name) => typeof claims[name] === "string");
      for (const name of texts) claims[name] = Number(claims[name]);
      return texts.length > 0;
    }),
  },
  {
    rule: "AUTH-29",
    what: "a token with iat in the future is accepted",
    base: "swift",
    differences: claim("iat", (value) => isBetween(value, 30, 1000), now),
  },
  {
    rule: "AUTH-30",
    what: "a token is accepted when its exp is exactly at the leeway",
    base: "swift",
    differences: claim("exp", (value) => isBetween(value, -33, -27), later),
  },
  {
    rule: "CLAIM-1",
    what: "rights are read from scope, although another claim is configured",
    base: "reduced",
    differences: overlook(({ claims }) => {
      if (claims["scope"] === undefined) return false;
      claims["permissions"] = claims["scope"];
      return true;
    }),
  },
  {
    rule: "CLAIM-4",
    what: "a token with typ access is refused",
    base: "swift",
    differences: refusing(({ claims }) => claims["typ"] === "access"),
  },
  {
    rule: "CLAIM-5",
    what: "rights are read from grt",
    base: "swift",
    differences: overlook(({ claims }) => {
      const grt = claims["grt"] as { scopes: readonly string[] } | undefined;
      if (grt === undefined || claims["typ"] === "refresh") return false;
      claims["scope"] = grt.scopes;
      return true;
    }),
  },
];
