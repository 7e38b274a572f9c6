import { type Check, check, every, given, must, notApplicable, ruledOut, type Verdict } from "../check.ts";
import { accepts, isRefusal, refuses } from "./callers.ts";

export const claimChecks: readonly Check[] = [
  check("CLAIM-1", { needs: ["auth", "keys"] }, async (kit) => {
    const { scoped, role } = kit.settings.probes;
    const { scopeClaim, rolesClaim } = kit.settings.claims;
    const verdicts: Verdict[] = [];
    // A text and a list: accepting both in either claim is a house convention.
    for (const [usual, own, probe, value] of [
      ["scope", scopeClaim, scoped?.request, scoped?.scopes.join(" ")],
      ["roles", rolesClaim, role?.request, role?.roles],
    ] as const) {
      if (own === usual || probe === undefined) continue;
      const { status } = await kit.ask(probe, { token: kit.tokens.mint({ claims: { [usual]: value } }) });
      verdicts.push(
        must(status >= 400, `${status} with rights in ${usual}`, `rights are read from ${own} alone`),
      );
      const given = await kit.ask(probe, { token: kit.tokens.mint({ claims: { [own]: value } }) });
      verdicts.push(must(!isRefusal(given), `${given.status} with rights in ${own}`, "an answer"));
    }
    return verdicts.length === 0 ? ruledOut("the claims have their usual names") : every(verdicts);
  }),
  check("CLAIM-4", { needs: ["auth", "keys", "probe:protected"] }, async (kit) => {
    return every([
      await accepts(kit, "a token without typ", { claims: { typ: undefined } }),
      await accepts(kit, "a token with typ access", { claims: { typ: "access" } }),
    ]);
  }),
  check("CLAIM-5", { needs: ["auth", "keys"] }, async (kit) => {
    const { scoped, role } = kit.settings.probes;
    const grt = { scopes: scoped?.scopes ?? [], roles: role?.roles ?? [] };
    const verdicts: Verdict[] = [];
    for (const probe of [scoped?.request, role?.request]) {
      if (probe === undefined) continue;
      // Another rule judges a route that admits a caller without rights.
      if ((await kit.ask(probe, { token: kit.tokens.mint() })).ok) continue;
      const { ok, status } = await kit.ask(probe, { token: kit.tokens.mint({ claims: { grt } }) });
      verdicts.push(must(!ok, `${status} with rights in grt alone`, "grt decides nothing"));
    }
    return verdicts.length === 0 ? notApplicable("no probe `scoped` or `role`") : every(verdicts);
  }),
  check("CLAIM-6", { needs: ["key set", "auth", "keys", "probe:protected"] }, async (kit) => {
    const { tokens } = kit;
    const keySet = given(kit.keySet);
    const { algorithm } = tokens;
    const { first, second } = keySet;
    const signWith = { algorithm, key: second.key };
    return every([
      await accepts(kit, "the second key of the set", { header: { kid: second.kid }, signWith }),
      await refuses(kit, "the kid of another key", { header: { kid: first.kid }, signWith }),
    ]);
  }),
];
