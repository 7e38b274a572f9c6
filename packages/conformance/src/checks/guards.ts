import type { Answer } from "../answer.ts";
import { check, type Check, given } from "../check.ts";
import type { Verdict } from "../conformance-report.ts";
import { rights } from "../grant.ts";
import type { Kit } from "../kit.ts";
import { strangerOf } from "../signing.ts";
import { type TokenShape, withOtherSignature } from "../tokens.ts";
import { every, isDenied, must, notApplicable, ruledOut, statusIs, succeeds } from "../verdict.ts";
import { accepts, isRefusal, protectedRoute } from "./callers.ts";
import { malformedOnGuarded, malformedOnOpen } from "./malformed-authorization.ts";
import { eachNamed } from "./samples.ts";
import { anonymously } from "./tenants.ts";

export const guardChecks: readonly Check[] = [
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
