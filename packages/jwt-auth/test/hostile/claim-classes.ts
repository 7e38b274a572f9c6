import type { RefusalReason } from "@svc/jwt-auth";
import { goodClaims, nowSeconds } from "../support/forge.ts";
import { hostile, type HostileClass, type HostileToken, type Settings } from "./hostile-token.ts";

const latest = 8.64e12;

const numbers: HostileClass = {
  name: "invalid dates",
  tokens: ["exp", "iat", "nbf"].flatMap((claim) => [
    date(claim, "AUTH-23", "1e400", "1e400"),
    date(claim, "AUTH-23", "-1e400", "-1e400"),
    date(claim, "AUTH-23", "negative", "-1"),
    date(claim, "AUTH-23", "above the largest date", String(latest + 1)),
    date(claim, "AUTH-28", "a string", `"${nowSeconds}"`),
    date(claim, "AUTH-28", "the word NaN", '"NaN"'),
    date(claim, "AUTH-28", "null", "null"),
    date(claim, "AUTH-28", "true", "true"),
    date(claim, "AUTH-28", "a list", `[${nowSeconds}]`),
    date(claim, "AUTH-28", "an object", `{"$date":${nowSeconds}}`),
    date(claim, "AUTH-28", "a date as text", '"2027-01-15T08:00:00Z"'),
  ]),
};

function date(claim: string, rule: string, how: string, value: string): HostileToken {
  const { [claim]: known = nowSeconds - 60, ...rest } = goodClaims;
  const text = JSON.stringify(rest).slice(0, -1);
  return hostile(
    rule,
    `${claim} that is ${how}`,
    ["claim_type", claim],
    { rawPayload: `${text},"${claim}":${value}}` },
    { rawPayload: `${text},"${claim}":${JSON.stringify(known)}}` },
  );
}

/** Tokens with dates beyond the leeway, most of them by at most one second. */
const skew: HostileClass = {
  name: "the edges of the leeway",
  tokens: [
    edge("AUTH-30", "exp 30 s ago", "expired", "exp", -30, -29),
    edge("AUTH-30", "exp 31 s ago", "expired", "exp", -31, -29),
    edge("AUTH-30", "exp 29.5 s ago, which is truncated to 30 s", "expired", "exp", -30 + 0.5, -29 + 0.5),
    edge("AUTH-30", "exp an hour ago", "expired", "exp", -3600, -29),
    edge("AUTH-8", "nbf in 31 s", "not_yet_valid", "nbf", 31, 30),
    edge("AUTH-8", "nbf in an hour", "not_yet_valid", "nbf", 3600, 29),
    edge("AUTH-8", "nbf in 31.9 s", "not_yet_valid", "nbf", 31.9, 30.9),
    edge("AUTH-29", "iat in 31 s", "issued_in_future", "iat", 31, 30),
    edge("AUTH-29", "iat in an hour", "issued_in_future", "iat", 3600, 29),
    edge("AUTH-29", "iat in milliseconds", "issued_in_future", "iat", nowSeconds * 999, 0),
    edge("AUTH-8", "exp now, without leeway", "expired", "exp", 0, 1, { leewaySeconds: 0 }),
    edge("AUTH-8", "nbf in a second, without leeway", "not_yet_valid", "nbf", 1, 0, { leewaySeconds: 0 }),
    edge("AUTH-8", "iat in a second, without leeway", "issued_in_future", "iat", 1, 0, { leewaySeconds: 0 }),
    hostile("AUTH-30", "exp 0", ["expired", "exp"], { claims: { exp: 0 } }),
  ],
};

function edge(
  rule: string,
  defect: string,
  reason: RefusalReason,
  at: string,
  seconds: number,
  repairedSeconds: number,
  settings?: Partial<Settings>,
): HostileToken {
  const claims = (by: number): Readonly<Record<string, unknown>> => ({ [at]: nowSeconds + by });
  return hostile(
    rule,
    defect,
    [reason, at],
    { claims: claims(seconds) },
    { claims: claims(repairedSeconds) },
    settings,
  );
}

const missing: HostileClass = {
  name: "missing claims",
  tokens: [
    ...["exp", "iat", "sub"].map((claim) =>
      hostile("AUTH-9", `a token without ${claim}`, ["claim_missing", claim], {
        claims: { [claim]: undefined },
      }),
    ),
    hostile("AUTH-9", "a token without claims", ["claim_missing"], { rawPayload: "{}" }),
    looksLike("Exp with a capital letter", "exp", "Exp"),
    looksLike("sub with a letter of another alphabet", "sub", "ѕub"),
    looksLike("iat with a dotless i", "iat", "ıat"),
    looksLike("exp with a trailing space", "exp", "exp "),
    looksLike("sub with an invisible letter", "sub", "sub\u200b"),
    looksLike("exp in full-width letters", "exp", "ｅｘｐ"),
    looksLike("expires_at in place of exp", "exp", "expires_at"),
  ],
};

function looksLike(defect: string, claim: string, as: string): HostileToken {
  const both = { [as]: goodClaims[claim] };
  return hostile(
    "AUTH-9",
    defect,
    ["claim_missing", claim],
    { claims: { ...both, [claim]: undefined } },
    { claims: both },
  );
}

const types: HostileClass = {
  name: "claims of the wrong type",
  tokens: [
    type("sub", "sub that is a number", 1, "ada"),
    type("sub", "sub that is null", null, "ada"),
    type("sub", "sub that is a list", ["ada"], "ada"),
    type("sub", "sub that is an object", { id: "ada" }, "ada"),
    type("sub", "sub that is empty", "", "ada"),
    type("sub", "sub that is true", true, "ada"),
    ...["jti", "fam", "iss"].flatMap((claim) => [
      type(claim, `${claim} that is a number`, 7, "seven"),
      type(claim, `${claim} that is a list`, ["a"], "a"),
      type(claim, `${claim} that is an object`, { a: 1 }, "a"),
      type(claim, `${claim} that is null`, null, "a"),
    ]),
    type("aud", "aud that is a number", 7, "seven"),
    type("aud", "aud that is an object", { 0: "expenses" }, "expenses"),
    type("aud", "aud that is a list with a number in it", ["expenses", 7], ["expenses", "seven"]),
    type("aud", "aud that is null", null, "expenses"),
  ],
};

const texts: HostileClass = {
  name: "strings that logs, databases or headers cannot store",
  tokens: [
    ...["sub", "jti", "fam", "tenant_id"].flatMap((claim) => [
      text(claim, "NUL", "a\0"),
      text(claim, "CR LF", "a\r\nSet-Cookie: a=b"),
      text(claim, "a C1 control character", "a\u009b"),
      text(claim, "a lone surrogate", "a\ud800"),
    ]),
    text("tenant_id", "4,000 characters", "a".repeat(4000)),
    text("tenant_id", "256 characters", "a".repeat(256)),
    text("tenant_id", "only a space", " "),
  ],
};

function text(claim: string, what: string, bad: string): HostileToken {
  return hostile(
    "AUTH-39",
    `${claim} with ${what}`,
    ["claim_type", claim],
    { claims: { [claim]: bad } },
    { claims: { [claim]: "acme" } },
  );
}

function type(claim: string, defect: string, bad: unknown, good: unknown): HostileToken {
  return hostile(
    "AUTH-28",
    defect,
    ["claim_type", claim],
    { claims: { [claim]: bad } },
    { claims: { [claim]: good } },
  );
}

const issuer = "https://issuer.example";

const issuers: HostileClass = {
  name: "a missing or wrong issuer",
  tokens: [
    iss("another issuer", "https://evil.example"),
    iss("the issuer with a trailing slash", `${issuer}/`),
    iss("the issuer in upper case", issuer.toUpperCase()),
    iss("the issuer with a longer domain", `${issuer}.evil.example`),
    iss("the issuer without its scheme", "issuer.example"),
    iss("an empty issuer", ""),
    iss("the issuer with a letter of another alphabet", issuer.replace("e", "е")),
    hostile(
      "AUTH-6",
      "a token without an issuer",
      ["claim_missing", "iss"],
      {},
      { claims: { iss: issuer } },
      { issuer },
    ),
    hostile(
      "AUTH-28",
      "the issuer in a list",
      ["claim_type", "iss"],
      { claims: { iss: [issuer] } },
      { claims: { iss: issuer } },
      { issuer },
    ),
  ],
};

function iss(defect: string, value: string): HostileToken {
  return hostile(
    "AUTH-6",
    defect,
    ["issuer", "iss"],
    { claims: { iss: value } },
    { claims: { iss: issuer } },
    { issuer },
  );
}

const audience = "expenses";

const audiences: HostileClass = {
  name: "a missing or wrong audience",
  tokens: [
    aud("another audience", "audience", "billing"),
    aud("the audience in upper case", "audience", "EXPENSES"),
    aud("a string that contains the audience", "audience", "expenses,billing"),
    aud("a list without the audience", "audience", ["billing", "users"]),
    aud("an empty list", "audience", []),
    aud("an empty audience", "audience", ""),
    aud("the audience in a nested list", "claim_type", [[audience]]),
    aud("a number", "claim_type", 1),
    aud("a list with the audience and a number", "claim_type", [audience, 1]),
    hostile(
      "AUTH-6",
      "a token without an audience",
      ["claim_missing", "aud"],
      {},
      { claims: { aud: audience } },
      { audience },
    ),
    { ...aud("a list with only another audience", "audience", ["billing"], [audience, "billing"]) },
  ],
};

function aud(defect: string, reason: RefusalReason, value: unknown, good: unknown = audience): HostileToken {
  const rule = reason === "audience" ? "AUTH-6" : "AUTH-28";
  return hostile(
    rule,
    defect,
    [reason, "aud"],
    { claims: { aud: value } },
    { claims: { aud: good } },
    { audience },
  );
}

const use: HostileClass = {
  name: "the use of a token",
  tokens: [
    hostile(
      "AUTH-10",
      "a refresh token as an access token",
      ["token_use", "typ"],
      { claims: { typ: "refresh" } },
      { claims: { typ: "access" } },
    ),
    hostile(
      "CLAIM-4",
      "a refresh token with grt",
      ["token_use", "typ"],
      { claims: { typ: "refresh", grt: { scopes: ["a"], roles: [] } } },
      { claims: { grt: { scopes: ["a"], roles: [] } } },
    ),
    hostile(
      "AUTH-10",
      "a refresh token with scopes",
      ["token_use", "typ"],
      { claims: { typ: "refresh", scope: "expenses:read" } },
      { claims: { scope: "expenses:read" } },
    ),
    hostile(
      "AUTH-10",
      "a refresh token that names an audience",
      ["token_use", "typ"],
      { claims: { typ: "refresh", aud: audience } },
      { claims: { aud: audience } },
      { audience },
    ),
    hostile(
      "AUTH-10",
      "an access token as a refresh token",
      ["token_use", "typ"],
      { claims: { typ: "access" } },
      { claims: { typ: "refresh" } },
      { tokenUse: "refresh" },
    ),
    hostile(
      "AUTH-10",
      "a token without typ as a refresh token",
      ["token_use", "typ"],
      {},
      { claims: { typ: "refresh" } },
      { tokenUse: "refresh" },
    ),
  ],
};

export const claimClasses: readonly HostileClass[] = [
  numbers,
  skew,
  missing,
  types,
  texts,
  issuers,
  audiences,
  use,
];
