import { type Check, check, every, given, must, notApplicable, ruledOut, type Verdict } from "../check.ts";
import { badTokens } from "./bad-tokens.ts";
import { accepts, isRefusal, rights } from "./callers.ts";
import { malformedOnGuarded, malformedOnOpen } from "./malformed-authorization.ts";
import { eachNamed } from "./named-samples.ts";
import { anonymously } from "./tenants.ts";

/** Checks of who passes which guard, and of the answers to others. */
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
  check("AUTH-12", { needs: ["auth", "keys"] }, async (kit) => {
    const open = kit.settings.probes.open ?? "/health";
    const now = kit.tokens.now();
    const tokens: [string, string][] = [
      ["garbage", "not-a-token"],
      ["an expired token", kit.tokens.mint({ claims: { iat: now - 9000, exp: now - 8000 } })],
      ["an unsigned token", `${kit.tokens.mint().split(".").slice(0, 2).join(".")}.AAAA`],
    ];
    const verdicts: Verdict[] = [];
    for (const [what, token] of tokens) {
      const { ok, status } = await kit.ask(open, { token });
      verdicts.push(must(ok, `${status} on an open route with ${what}`, "the token is ignored"));
    }
    return every([...verdicts, ...(await malformedOnOpen(kit))]);
  }),
  check("AUTH-13", { needs: ["auth", "probe:protected"] }, async (kit) => {
    const { protected: route, scoped, role } = kit.settings.probes;
    const verdicts: Verdict[] = [];
    for (const probe of [route, scoped?.request, role?.request]) {
      // If every request needs a tenant, an anonymous one is refused for that (TEN-3).
      if (probe === undefined || kit.settings.tenancy.requireTenant) continue;
      const { status } = await kit.ask(probe);
      verdicts.push(must(status === 401, `${status} without a caller`, "401"));
    }
    if ((await anonymously(kit)) !== undefined) {
      verdicts.push(...(await eachNamed(kit, 401)), ...(await malformedOnGuarded(kit)));
    }
    if (kit.settings.keys === undefined) return every(verdicts);
    verdicts.push(...(await badTokens(kit)));
    for (const [what, probe, names] of [
      ["scopes", scoped?.request, scoped?.scopes],
      ["role", role?.request, []],
    ] as const) {
      if (probe === undefined) continue;
      const answer = await kit.ask(probe, { token: kit.tokens.mint() });
      if (answer.ok) continue;
      verdicts.push(
        must(answer.status === 403, `${answer.status} for a caller without ${what}`, "403"),
        must(
          answer.status !== 403 || (names ?? []).every((name) => answer.says(name)),
          "a 403 that does not name the missing scopes",
          "the missing scopes named",
        ),
      );
    }
    return every(verdicts);
  }),
  check("AUTH-14", { needs: ["auth", "keys", "probe:protected"] }, async (kit) => {
    const { protected: route, scoped } = kit.settings.probes;
    if (route === scoped?.request) return notApplicable("the probe `protected` needs scopes");
    return accepts(kit, "a valid token", { roles: [], scopes: [] });
  }),
  check("AUTH-15", { needs: ["auth", "keys", "probe:scoped"] }, async (kit) => {
    const scoped = given(kit.settings.probes.scoped);
    const verdicts: Verdict[] = [];
    for (const missing of [undefined, ...scoped.scopes]) {
      // Scope names that contain the missing name are different scopes.
      const scopes = [
        ...scoped.scopes.filter((scope) => scope !== missing),
        ...(missing === undefined ? [] : [`${missing}-not`, `not-${missing}`]),
      ];
      const answer = await kit.ask(scoped.request, { token: kit.tokens.mint({ scopes }) });
      verdicts.push(
        missing === undefined
          ? must(!isRefusal(answer), `${answer.status} with all scopes`, "an answer")
          : must(!answer.ok, `${answer.status} without ${missing}`, "all listed scopes are needed"),
      );
    }
    const verdict = every(verdicts);
    return scoped.scopes.length < 2 && verdict.status === "pass"
      ? notApplicable("the probe `scoped` names one scope: whether all are needed shows on two")
      : verdict;
  }),
  check("AUTH-16", { needs: ["auth", "keys", "probe:role"] }, async (kit) => {
    const role = given(kit.settings.probes.role);
    const verdicts: Verdict[] = [];
    for (const each of role.roles) {
      const answer = await kit.ask(role.request, { token: kit.tokens.mint({ roles: [each, "other"] }) });
      verdicts.push(must(!isRefusal(answer), `${answer.status} with the role ${each}`, "any one is enough"));
    }
    const others = ["other", ...role.roles.flatMap((each) => [`${each}-not`, `not-${each}`])];
    const none = await kit.ask(role.request, { token: kit.tokens.mint({ roles: others }) });
    verdicts.push(must(!none.ok, `${none.status} with none of the roles`, "a refusal"));
    return every(verdicts);
  }),
  check("AUTH-17", { needs: ["auth", "keys", "probe:mixed"] }, async (kit) => {
    const mixed = given(kit.settings.probes.mixed);
    const without = await kit.ask(mixed);
    const withCaller = await kit.ask(mixed, { token: kit.tokens.mint(rights(kit)) });
    return every([
      must(without.ok, `${without.status} without a caller`, "an answer"),
      must(withCaller.ok, `${withCaller.status} with a caller`, "an answer"),
    ]);
  }),
];
