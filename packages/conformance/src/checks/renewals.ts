import { type Check, check, every, is, must, notApplicable, type Verdict } from "../check.ts";
import { show } from "../show.ts";
import type { Claims } from "../tokens.ts";
import { needs, pairs } from "./pairs.ts";
import { claimsOf, names, pairOf, refresh } from "./session-calls.ts";

/** Checks of the answer to a refresh and of the new tokens. */
export const renewalChecks: readonly Check[] = [
  check("REF-2", { needs }, async (kit) => {
    const { renewed } = await pairs(kit);
    if (renewed === undefined) return notApplicable("see REF-1");
    const { answer, access } = renewed;
    const { object = {} } = answer;
    const { iat, exp } = claimsOf(access);
    const lifetime = Number(exp) - Number(iat);
    const members = ["access_token", "refresh_token", "token_type", "expires_in"];
    const cached = answer.header("cache-control") ?? "";
    return every([
      must(answer.status === 200, String(answer.status), "200"),
      must(/\bno-store\b/i.test(cached), `Cache-Control ${show(cached)}`, "no-store"),
      must(
        sameMembers(Object.keys(object), members),
        `members ${Object.keys(object).join(", ")}`,
        members.join(", "),
      ),
      is("token_type", object["token_type"], "Bearer"),
      is("expires_in", object["expires_in"], lifetime),
    ]);
  }),
  check("REF-3", { needs }, async (kit) => {
    const { first, renewed } = await pairs(kit);
    if (renewed === undefined) return notApplicable("see REF-1");
    const { scopeClaim, rolesClaim, tenantClaim } = kit.settings.claims;
    const before = claimsOf(first.access);
    const grt = (claimsOf(first.refresh)["grt"] ?? {}) as Claims;
    const again = pairOf(kit, await refresh(kit, renewed.refresh));
    const verdicts: Verdict[] = [];
    for (const [pair, times] of [
      [renewed, "a refresh"],
      [again, "a second refresh"],
    ] as const) {
      if (pair === undefined) continue;
      const after = claimsOf(pair.access);
      for (const [claim, granted] of [
        [scopeClaim, "scopes"],
        [rolesClaim, "roles"],
      ] as const) {
        const had = names(grt[granted] ?? before[claim]);
        const has = names(after[claim]);
        verdicts.push(must(sameMembers(had, has), `${granted} ${show(has)} after ${times}`, show(had)));
      }
      for (const claim of ["sub", tenantClaim]) {
        const [had, has] = [show(before[claim]), show(after[claim])];
        verdicts.push(must(had === has, `${claim} ${has} after ${times}`, had));
      }
    }
    return every(verdicts);
  }),
];

function sameMembers(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((name) => b.includes(name));
}
