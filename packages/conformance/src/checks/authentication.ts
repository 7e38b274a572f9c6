import type { Answer } from "../answer.ts";
import { check, type Check, given, type Need } from "../check.ts";
import type { Verdict } from "../conformance-report.ts";
import { rights } from "../grant.ts";
import type { Kit } from "../kit.ts";
import { type Algorithm, algorithmGroups, type Probe } from "../option-values.ts";
import { requestOf } from "../requests.ts";
import { short } from "../show.ts";
import { strangerOf } from "../signing.ts";
import { type TokenShape, withOtherSignature } from "../tokens.ts";
import { every, isDenied, must, notApplicable, ruledOut, statusIs, succeeds } from "../verdict.ts";
import { accepts, isRefusal, protectedRoute, refusesCaller, refuses, refusesAll } from "./callers.ts";
import { malformedOnGuarded, malformedOnOpen } from "./malformed-authorization.ts";
import { eachNamed } from "./samples.ts";
import { logout, pairOf, signIn, visit } from "./session-calls.ts";
import { anonymously } from "./tenants.ts";

const needs: readonly Need[] = ["auth", "keys", "probe:protected"];

/** Returns up to three algorithms that the key supports but the service does not accept. */
function foreignAlgorithms(kit: Kit): readonly Algorithm[] {
  const { algorithm, keys } = kit.tokens;
  const allowed = keys.algorithms ?? [algorithm];
  return algorithmsOfKey(algorithm)
    .filter((each) => !allowed.includes(each))
    .slice(0, 3);
}

/** Returns the algorithms that a key for this algorithm supports. */
function algorithmsOfKey(algorithm: Algorithm): readonly Algorithm[] {
  const groups: readonly (readonly Algorithm[])[] = algorithmGroups;
  return groups.find((each) => each.includes(algorithm)) ?? [algorithm];
}

/**
 * Returns the names of members that differ between two refusals of one token, such as times and ids. They reveal
 * nothing about the token.
 */
function volatile(one: Answer, other: Answer): ReadonlySet<string> {
  const [first, second] = [one.object ?? {}, other.object ?? {}];
  const names = Object.keys({ ...first, ...second });
  const differing = names.filter((name) => JSON.stringify(first[name]) !== JSON.stringify(second[name]));
  return new Set(["request_id", "instance", ...differing]);
}

/** Returns the visible content of a refusal, without headers that contain digits, such as times, ids and lengths. */
function visible(answer: Answer, without: ReadonlySet<string>): string {
  const members = Object.entries(answer.object ?? { text: answer.text });
  const headers = answer.headers.filter(
    ([name, value]) => /^www-authenticate$/i.test(name) || !/\d/.test(value),
  );
  const named = headers.map(([name, value]) => `${name.toLowerCase()}: ${value}`).toSorted();
  return JSON.stringify([answer.status, members.filter(([name]) => !without.has(name)), named]);
}

/** Checks that neither the kit's nor the service's own refresh tokens are accepted as bearer tokens. */
async function refreshAsBearer(kit: Kit): Promise<Verdict> {
  const { keys, profile, probes } = kit.settings;
  const verdicts: Verdict[] = [];
  if (keys !== undefined && probes.protected !== undefined) {
    const claims = { typ: "refresh", fam: "f", grt: { scopes: [], roles: [] } };
    verdicts.push(await refusesAll(kit, [["typ refresh", { claims }]]));
  }
  if (probes.session !== undefined && profile === "full") verdicts.push(await ofTheService(kit));
  return verdicts.length === 0
    ? notApplicable("needs keys and the probe `protected`, or the probe `session`")
    : every(verdicts);
}

async function ofTheService(kit: Kit): Promise<Verdict> {
  const { access, refresh: token } = await signIn(kit);
  const visited = await visit(kit, token);
  const renewed = pairOf(kit, await kit.ask({ path: "/auth/refresh", body: {} }, { token }));
  const loggedOut = await logout(kit, token);
  // A service may respond to any logout with 204: check whether the logout ended the session.
  const after = await visit(kit, access);
  const what = "a refresh token in the Authorization header";
  return every([
    refusesCaller(visited, `for ${what}`),
    must(renewed === undefined, `a token pair from /auth/refresh for ${what}`, "a refusal"),
    must(!loggedOut.ok || after.ok, `a logout with ${what} ended the session`, "401"),
  ]);
}

export const authenticationChecks: readonly Check[] = [
  check("AUTH-3", { needs }, async function* (kit) {
    const { key, publicKey } = kit.tokens;
    for (const foreign of foreignAlgorithms(kit)) {
      const shape = { header: { alg: foreign }, signWith: { algorithm: foreign, key } };
      yield await refuses(kit, `${foreign}, which is not configured`, shape);
    }
    if (publicKey !== undefined) {
      // The key confusion attack uses the public key as an HMAC secret.
      for (const type of ["spki", "pkcs1"] as const) {
        if (type === "pkcs1" && publicKey.asymmetricKeyType !== "rsa") continue;
        const pem = publicKey.export({ format: "pem", type }).toString();
        for (const text of [pem, pem.trim()]) {
          const signWith = { algorithm: "HS256" as const, key: Buffer.from(text) };
          yield await refuses(kit, "HS256 with the public key as secret", {
            header: { alg: "HS256" },
            signWith,
          });
        }
      }
    }
    return ruledOut("the service accepts every algorithm that the key supports, so no other can be tried");
  }),
  check("AUTH-4", { needs }, async function* (kit) {
    for (const alg of ["none", "None", "NONE", "nOnE"]) {
      const { header, claims } = kit.tokens.parts({ header: { alg }, ...rights(kit) });
      const input = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
      for (const end of ["", "c2lnbmF0dXJl"]) {
        yield await refuses(kit, `alg ${alg}`, [...input, end].join("."));
      }
    }
  }),
  check("AUTH-6", { needs }, async function* (kit) {
    const { issuer, audience } = kit.tokens.keys;
    if (issuer === undefined && audience === undefined)
      return ruledOut("neither issuer nor audience is configured");
    const shapes: [string, TokenShape][] = [];
    if (issuer !== undefined) {
      shapes.push(["no iss", { claims: { iss: undefined } }]);
      shapes.push(["another iss", { claims: { iss: `${issuer}/other` } }]);
    }
    if (audience !== undefined) {
      shapes.push(["no aud", { claims: { aud: undefined } }]);
      shapes.push(["another aud", { claims: { aud: `${audience}-other` } }]);
      shapes.push(["a list of other audiences", { claims: { aud: ["a", "b"] } }]);
    }
    yield await refusesAll(kit, shapes);
    if (audience !== undefined) {
      yield await accepts(kit, "an aud list that includes the audience of the service", {
        claims: { aud: ["x", audience] },
      });
    }
  }),
  check("AUTH-8", { needs }, async function* (kit) {
    const { leeway } = kit.tokens;
    const now = kit.tokens.now();
    yield await refusesAll(kit, [
      ["an exp in the past", { claims: { iat: now - 900, exp: now - leeway - 15 } }],
      ["an nbf in the future", { claims: { nbf: now + leeway + 15 } }],
    ]);
    if (leeway >= 20) {
      yield await accepts(kit, "an exp within the leeway", { claims: { exp: now - leeway + 15 } });
      yield await accepts(kit, "an nbf within the leeway", { claims: { nbf: now + leeway - 10 } });
      yield await accepts(kit, "an iat within the leeway", { claims: { iat: now + leeway - 10 } });
    }
  }),
  check("AUTH-9", { needs }, (kit) =>
    refusesAll(
      kit,
      ["exp", "iat", "sub"].map((claim) => [`no ${claim}`, { claims: { [claim]: undefined } }]),
    ),
  ),
  check("AUTH-10", { needs: ["auth"] }, refreshAsBearer),
  check("AUTH-11", { needs }, async (kit) => {
    const now = kit.tokens.now();
    const tokens: [string, string][] = [
      ["an expired token", kit.tokens.mint({ claims: { iat: now - 9000, exp: now - 8000 } })],
      ["a bad signature", withOtherSignature(kit.tokens.mint(rights(kit)))],
      ["a token that is not a JWT", "x"],
      ["a missing claim", kit.tokens.mint({ claims: { sub: undefined } })],
      ["a refresh token", kit.tokens.mint({ claims: { typ: "refresh" } })],
    ];
    const answers = await Promise.all(
      tokens.map(async ([what, token]) => [what, await protectedRoute(kit, token)] as const),
    );
    // Compare only refusals with the same status: other rules check an accepted token, and AUTH-13 checks a 403.
    const refusals = answers.filter(([, answer]) => isRefusal(answer));
    const bare = refusals.filter(([, { status }]) => status === 401);
    const refused = bare.length > 0 ? bare : refusals;
    const [first] = refused;
    if (first === undefined) return notApplicable("no token was refused");
    const again = await protectedRoute(kit, tokens.find(([what]) => what === first[0])?.[1] ?? "x");
    const without = volatile(first[1], again);
    const usual = visible(first[1], without);
    const other = refused.find(([, answer]) => visible(answer, without) !== usual);
    return must(
      other === undefined,
      `${other?.[0]}: ${short(visible(other?.[1] ?? again, without), 300)}`,
      `the same response as for ${first[0]}: ${short(usual, 300)}`,
    );
  }),
  check("AUTH-26", { needs }, async function* (kit) {
    const { keys, algorithm, key } = kit.tokens;
    const others = (keys.algorithms ?? []).filter((each) => each !== algorithm);
    const family = algorithmsOfKey(algorithm);
    for (const each of [algorithm, ...others.filter((other) => family.includes(other))]) {
      const shape = { header: { alg: each }, signWith: { algorithm: each, key } };
      yield await accepts(kit, `a token of ${each}`, shape);
    }
    // A service that ignores `alg` passes the checks above, so send a wrong `alg` too.
    const odd = algorithm.toLowerCase();
    yield await refuses(kit, `alg ${odd}`, { header: { alg: odd } });
  }),
  check("AUTH-33", { needs }, async function* (kit) {
    const token = kit.tokens.mint(rights(kit));
    const probe: Probe = kit.settings.probes.protected ?? "/";
    const { path } = requestOf(probe);
    const ways: [string, Parameters<Kit["ask"]>[1]][] = [
      ["the query", { path: `${path}${path.includes("?") ? "&" : "?"}access_token=${token}` }],
      ["a cookie", { headers: [["Cookie", `access_token=${token}; token=${token}; jwt=${token}`]] }],
      ["another header", { headers: [["X-Access-Token", token]] }],
      ["another scheme", { headers: [["Authorization", `Token ${token}`]] }],
    ];
    for (const [what, extra] of ways) {
      const answer = await kit.ask(probe, extra);
      yield isDenied(
        answer,
        `with a token in ${what}`,
        "a refusal: only the bearer header may contain a token",
      );
    }
  }),
  check("AUTH-1", {}, async (kit) => {
    if (kit.has("auth")) return ruledOut("authentication is on");
    const open = kit.settings.probes.open ?? "/health";
    const [without, withToken] = [await kit.ask(open), await kit.ask(open, { token: "a.b.c" })];
    return must(
      without.status === withToken.status,
      `${withToken.status} with an Authorization header, ${without.status} without`,
      "no difference",
    );
  }),
  check("AUTH-12", { needs: ["auth", "keys"] }, async function* (kit) {
    const open = kit.settings.probes.open ?? "/health";
    const now = kit.tokens.now();
    const tokens: [string, string][] = [
      ["garbage", "not-a-token"],
      ["an expired token", kit.tokens.mint({ claims: { iat: now - 9000, exp: now - 8000 } })],
      ["an unsigned token", `${kit.tokens.mint().split(".").slice(0, 2).join(".")}.AAAA`],
    ];
    for (const [what, token] of tokens) {
      yield succeeds(await kit.ask(open, { token }), `on an open route with ${what}`, "the token is ignored");
    }
    yield* await malformedOnOpen(kit);
  }),
  check("AUTH-13", { needs: ["auth", "probe:protected"] }, async function* (kit) {
    const { protected: route, scoped, role } = kit.settings.probes;
    for (const probe of [route, scoped?.request, role?.request]) {
      // If every request needs a tenant, an anonymous request is refused for the missing tenant (TEN-3).
      if (probe === undefined || kit.settings.tenancy.requireTenant) continue;
      yield statusIs(await kit.ask(probe), 401, "without a caller");
    }
    if ((await anonymously(kit)) !== undefined) {
      yield* await eachNamed(kit, 401);
      yield* await malformedOnGuarded(kit);
    }
    if (kit.settings.keys === undefined) return;
    yield* await badTokens(kit);
    for (const [what, probe, names] of [
      ["scopes", scoped?.request, scoped?.scopes],
      ["role", role?.request, []],
    ] as const) {
      if (probe === undefined) continue;
      const answer = await kit.ask(probe, { token: kit.tokens.mint() });
      if (answer.ok) continue;
      yield statusIs(answer, 403, `for a caller without ${what}`);
      yield must(
        answer.status !== 403 || (names ?? []).every((name) => answer.says(name)),
        "a 403 that does not name the missing scopes",
        "the missing scopes in the body",
      );
    }
  }),
  check("AUTH-14", { needs: ["auth", "keys", "probe:protected"] }, async (kit) => {
    const { protected: route, scoped } = kit.settings.probes;
    if (route === scoped?.request)
      return notApplicable("the probes `protected` and `scoped` have the same route");
    return accepts(kit, "a valid token", { roles: [], scopes: [] });
  }),
  check("AUTH-15", { needs: ["auth", "keys", "probe:scoped"] }, async (kit) => {
    const scoped = given(kit.settings.probes.scoped);
    const verdicts: Verdict[] = [];
    for (const missing of [undefined, ...scoped.scopes]) {
      // A scope name that merely contains the missing name is a different scope.
      const scopes = [
        ...scoped.scopes.filter((scope) => scope !== missing),
        ...(missing === undefined ? [] : [`${missing}-not`, `not-${missing}`]),
      ];
      const answer = await kit.ask(scoped.request, { token: kit.tokens.mint({ scopes }) });
      verdicts.push(
        missing === undefined
          ? must(!isRefusal(answer), `${answer.status} with all scopes`, "the request is accepted")
          : isDenied(answer, `without ${missing}`, "a refusal: every listed scope is required"),
      );
    }
    const verdict = every(verdicts);
    return scoped.scopes.length < 2 && verdict.status === "pass"
      ? notApplicable("the probe `scoped` names one scope; the check needs two")
      : verdict;
  }),
  check("AUTH-16", { needs: ["auth", "keys", "probe:role"] }, async function* (kit) {
    const role = given(kit.settings.probes.role);
    for (const each of role.roles) {
      const answer = await kit.ask(role.request, { token: kit.tokens.mint({ roles: [each, "other"] }) });
      yield must(
        !isRefusal(answer),
        `${answer.status} with the role ${each}`,
        "the request is accepted: one role is enough",
      );
    }
    const others = ["other", ...role.roles.flatMap((each) => [`${each}-not`, `not-${each}`])];
    const none = await kit.ask(role.request, { token: kit.tokens.mint({ roles: others }) });
    yield isDenied(none, "with none of the roles", "a refusal");
  }),
  check("AUTH-17", { needs: ["auth", "keys", "probe:mixed"] }, async function* (kit) {
    const mixed = given(kit.settings.probes.mixed);
    const without = await kit.ask(mixed);
    const withCaller = await kit.ask(mixed, { token: kit.tokens.mint(rights(kit)) });
    yield succeeds(without, "without a caller");
    yield succeeds(withCaller, "with a caller");
  }),
];

type Case = readonly [what: string, token: TokenShape | string];

/** Checks that a request with an invalid token gets 401, so that the client signs in again. */
async function badTokens(kit: Kit): Promise<readonly Verdict[]> {
  const now = kit.tokens.now();
  // Check only the status of refusals: other rules check whether the service rejects these tokens.
  const invalid: readonly Case[] = [
    ["that has expired", { claims: { iat: now - 9000, exp: now - 8000 } }],
    ["without sub", { claims: { sub: undefined } }],
    ["of type refresh", { claims: { typ: "refresh" } }],
  ];
  const answers = [
    ...(await ask(kit, await forged(kit))),
    ...(await ask(kit, invalid)).filter(([, { ok }]) => !ok),
  ];
  return answers.map(([what, answer]) => statusIs(answer, 401, `for a token ${what}`));
}

/** Returns tokens that the issuer did not create. */
async function forged(kit: Kit): Promise<readonly Case[]> {
  const { tokens } = kit;
  const token = tokens.mint(rights(kit));
  const { key, jwk } = await strangerOf(tokens.algorithm);
  const signWith = { algorithm: tokens.algorithm, key };
  return [
    ["that is not a JWT", "not-a-token"],
    ["with another signature", withOtherSignature(token)],
    ["without its signature", token.slice(0, token.lastIndexOf(".") + 1)],
    ["signed with another key", { signWith }],
    ["that carries its own key", { signWith, header: { ...tokens.parts().header, jwk } }],
  ];
}

function ask(kit: Kit, cases: readonly Case[]): Promise<readonly (readonly [string, Answer])[]> {
  return Promise.all(cases.map(async ([what, token]) => [what, await protectedRoute(kit, token)] as const));
}
