import { setTimeout as sleep } from "node:timers/promises";
import { check, type Check } from "../check.ts";
import type { Verdict } from "../conformance-report.ts";
import type { Kit } from "../kit.ts";
import { show } from "../show.ts";
import type { Claims } from "../tokens.ts";
import { every, is, isDenied, must, notApplicable, ruledOut, statusIs } from "../verdict.ts";
import {
  claimsOf,
  names,
  open,
  pairOf,
  presentCopy,
  refresh,
  sameMembers,
  sessionOf,
  signIn,
} from "./session-calls.ts";

export const needs = ["full", "auth", "probe:session"] as const;

/** Creates two sessions for one user and refreshes the first. All checks that only read tokens share them. */
export function pairs(kit: Kit) {
  return kit.once("pairs", async () => {
    const first = await signIn(kit);
    const second = await signIn(kit);
    // Wait so that a new timestamp differs from a copied one.
    await sleep(1100);
    // `renewed` is undefined if the refresh returned no pair.
    return { first, second, renewed: pairOf(kit, await refresh(kit, first.refresh)) };
  });
}

/** Returns the tokens of a session before and after a refresh. */
async function tokens(kit: Kit): Promise<readonly { what: string; isAccess: boolean; token: string }[]> {
  const { first, renewed } = await pairs(kit);
  return [first, renewed].flatMap((pair, index) =>
    pair === undefined
      ? []
      : (["access", "refresh"] as const).map((kind) => ({
          what: `the ${index === 0 ? "first" : "refreshed"} ${kind} token`,
          isAccess: kind === "access",
          token: pair[kind],
        })),
  );
}

/** Checks the claims of every token. */
async function each(
  kit: Kit,
  judge: (
    claims: Claims,
    isAccess: boolean,
  ) => readonly (readonly [ok: boolean, seen: string, asked: string])[],
): Promise<Verdict> {
  const all = await tokens(kit);
  return every(
    all.flatMap(({ what, isAccess, token }) =>
      judge(claimsOf(token), isAccess).map(([ok, seen, asked]) => must(ok, `${what} has ${seen}`, asked)),
    ),
  );
}

const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
const isList = (value: unknown): boolean =>
  Array.isArray(value) && value.every((name) => typeof name === "string");

/** Returns timestamps for an expired token. */
function past(kit: Kit): Claims {
  const exp = kit.tokens.now() - kit.tokens.leeway - 60;
  return { iat: exp - 3600, nbf: exp - 3600, exp };
}

/** Whether two family ids are numbers close to each other, as a counter would generate them. */
function areCounted(...fams: readonly [string, string]): boolean {
  if (!fams.every((fam) => /^\d{1,30}$/.test(fam))) return false;
  const apart = BigInt(fams[0]) - BigInt(fams[1]);
  return apart > -1000n && apart < 1000n;
}

export const pairChecks: readonly Check[] = [
  check("CLAIM-3", { needs }, async (kit) => {
    const { first } = await pairs(kit);
    const { fam } = claimsOf(first.access);
    return each(kit, (claims) => [
      [isText(claims["fam"]), "no fam", "the id of the session in both tokens"],
      [claims["fam"] === fam, "a fam that differs from that of the sign-in", "one fam for the session"],
    ]);
  }),
  check("ISS-3", { needs }, async function* (kit) {
    const { first, second } = await pairs(kit);
    const [fam, other, sub] = [
      claimsOf(first.access)["fam"],
      claimsOf(second.access)["fam"],
      claimsOf(first.access)["sub"],
    ];
    if (!isText(fam) || !isText(other)) return notApplicable("see CLAIM-3");
    yield must(fam !== other, "two sign-ins with the same fam", "a new fam at every sign-in");
    yield must(fam !== sub, "the subject as fam", "a random fam");
    yield must(
      !areCounted(fam, other),
      `consecutive values of fam: ${show(fam)} and ${show(other)}`,
      "random values",
    );
  }),
  check("ISS-4", { needs }, async function* (kit) {
    const { accessSeconds, refreshSeconds } = sessionOf(kit);
    const written = await each(kit, ({ iat, exp }, isAccess) => {
      const seconds = isAccess ? accessSeconds : refreshSeconds;
      const lifetime = Number(exp) - Number(iat);
      return [[Math.abs(lifetime - seconds) <= 1, `a lifetime of ${lifetime} s`, `${seconds} s`]];
    });
    const old = kit.settings.keys === undefined ? undefined : await presentCopy(kit, past(kit));
    if (old === undefined) return written;
    yield written;
    yield isDenied(old, "for a refresh token that has expired", "401");
  }),
  check("ISS-10", { needs }, async (kit) => {
    const { first } = await pairs(kit);
    const signedInAt = claimsOf(first.access)["auth_time"];
    const { issuer, audience } = kit.settings.keys ?? {};
    const { scopeClaim, rolesClaim } = kit.settings.claims;
    const seen = new Set<unknown>();
    return each(kit, (claims, isAccess) => {
      const isNew = !seen.has(claims["jti"]);
      seen.add(claims["jti"]);
      const typ = isAccess ? "access" : "refresh";
      const wrong = ["iat", "nbf", "exp", "auth_time"].find((name) => !Number.isInteger(claims[name]));
      return [
        [isText(claims["sub"]), `sub ${show(claims["sub"])}`, "a string"],
        [/^[0-9a-f]{32}$/.test(String(claims["jti"])), "a jti in a different format", "32 hex characters"],
        [isNew, "the jti of another token", "a unique id"],
        [wrong === undefined, `${wrong} ${show(claims[wrong ?? ""])}`, "whole seconds"],
        [claims["typ"] === typ, `typ ${show(claims["typ"])}`, typ],
        [claims["auth_time"] === signedInAt, "a different auth_time", "the time of the sign-in"],
        [
          !isAccess || typeof claims[scopeClaim] === "string",
          `no string in ${scopeClaim}`,
          "scopes separated by spaces",
        ],
        [!isAccess || isList(claims[rolesClaim]), `no list in ${rolesClaim}`, "a list of roles"],
        [issuer === undefined || claims["iss"] === issuer, `iss ${show(claims["iss"])}`, String(issuer)],
        [
          audience === undefined || [claims["aud"]].flat().includes(audience),
          `aud ${show(claims["aud"])}`,
          String(audience),
        ],
      ];
    });
  }),
  check("ISS-11", { needs }, (kit) => {
    const { scopeClaim, rolesClaim } = kit.settings.claims;
    return each(kit, (claims, isAccess) => {
      const { grt } = claims;
      if (isAccess) return [[grt === undefined, "grt", "grt only on refresh tokens"]];
      const { scopes, roles } = (grt ?? {}) as { readonly scopes?: unknown; readonly roles?: unknown };
      return [
        [isList(scopes) && isList(roles), `grt ${show(grt)}`, "{scopes, roles}, both lists"],
        [claims[scopeClaim] === undefined, `a claim ${scopeClaim}`, "scopes only in grt"],
        [claims[rolesClaim] === undefined, `a claim ${rolesClaim}`, "roles only in grt"],
      ];
    });
  }),
  check("ISS-12", { needs }, async function* (kit) {
    const all = await tokens(kit);
    const headers = all.map(({ what, token }) => ({ what, header: open(token)?.header ?? {} }));
    if (headers.every(({ header }) => String(header["alg"]).startsWith("HS"))) {
      return ruledOut("the service signs with a secret");
    }
    yield* headers.map(({ what, header }) =>
      must(isText(header["kid"]), `${what} has no kid`, "the id of the signing key"),
    );
  }),
  check("REF-2", { needs }, async function* (kit) {
    const { renewed } = await pairs(kit);
    if (renewed === undefined) return notApplicable("see REF-1");
    const { answer, access } = renewed;
    const { object = {} } = answer;
    const { iat, exp } = claimsOf(access);
    const lifetime = Number(exp) - Number(iat);
    const members = ["access_token", "refresh_token", "token_type", "expires_in"];
    const cached = answer.header("cache-control") ?? "";
    yield statusIs(answer, 200);
    yield must(/\bno-store\b/i.test(cached), `Cache-Control ${show(cached)}`, "no-store");
    yield must(
      sameMembers(Object.keys(object), members),
      `members ${Object.keys(object).join(", ")}`,
      members.join(", "),
    );
    yield is("token_type", object["token_type"], "Bearer");
    yield is("expires_in", object["expires_in"], lifetime);
  }),
  check("REF-3", { needs }, async function* (kit) {
    const { first, renewed } = await pairs(kit);
    if (renewed === undefined) return notApplicable("see REF-1");
    const { scopeClaim, rolesClaim, tenantClaim } = kit.settings.claims;
    const before = claimsOf(first.access);
    const grt = (claimsOf(first.refresh)["grt"] ?? {}) as Claims;
    const again = pairOf(kit, await refresh(kit, renewed.refresh));
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
        yield must(sameMembers(had, has), `${granted} ${show(has)} after ${times}`, show(had));
      }
      for (const claim of ["sub", tenantClaim]) {
        const [had, has] = [show(before[claim]), show(after[claim])];
        yield must(had === has, `${claim} ${has} after ${times}`, had);
      }
    }
  }),
];
