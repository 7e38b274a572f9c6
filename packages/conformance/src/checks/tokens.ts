import type { Answer, JsonObject } from "../answer.ts";
import { check, type Check, given, type Need } from "../check.ts";
import { rights } from "../grant.ts";
import type { Kit } from "../kit.ts";
import { isDenied, must, notApplicable, ruledOut } from "../verdict.ts";
import { accepts, isRefusal, refuses, refusesAll } from "./callers.ts";

const needs: readonly Need[] = ["auth", "keys", "probe:protected"];

/** Returns the header and payload of a valid token as JSON strings, for checks that corrupt them. */
function texts(kit: Kit, claims: JsonObject = {}): { header: string; payload: string } {
  const parts = kit.tokens.parts({ ...rights(kit), claims });
  return { header: JSON.stringify(parts.header), payload: JSON.stringify(parts.claims) };
}

/**
 * Returns the token with another last character that decodes to the same bytes, because base64url does not use all its
 * bits; undefined if all bits are used.
 */
function otherSpelling(token: string): string | undefined {
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const spare = [1, 4, 2, 1][(token.length - token.lastIndexOf(".") - 1) % 4] ?? 1;
  if (spare === 1) return undefined;
  const at = alphabet.indexOf(token.slice(-1));
  return `${token.slice(0, -1)}${alphabet[at + 1]}`;
}

/**
 * Returns the time in the response's Date header, in seconds; the local time if the header is missing or differs by 10
 * s or more.
 */
function serviceTime(answer: Answer, ours: number): number {
  const theirs = Date.parse(answer.header("date") ?? "") / 1000;
  return Math.abs(theirs - ours) < 10 ? theirs : ours;
}

export const tokenChecks: readonly Check[] = [
  check("AUTH-20", { needs }, (kit) =>
    refusesAll(kit, [["more than 8 KiB", { claims: { pad: "p".repeat(6600) } }]]),
  ),
  check("AUTH-21", { needs }, async (kit) => {
    const token = kit.tokens.mint(rights(kit));
    const { header, payload } = texts(kit);
    const bad = Buffer.concat([
      Buffer.from(`{"x":"`),
      Buffer.from([0xff]),
      Buffer.from(`",${payload.slice(1)}`),
    ]);
    const bom = Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), Buffer.from(payload)]);
    const cases: [string, string][] = [
      ["padding", `${token}=`],
      ["bytes that are not UTF-8", kit.tokens.mintBytes(header, bad)],
      ["a byte order mark", kit.tokens.mintBytes(header, bom)],
    ];
    const spelling = otherSpelling(token);
    if (spelling !== undefined) cases.push(["a non-canonical base64url encoding of its signature", spelling]);
    return refusesAll(kit, cases);
  }),
  check("AUTH-22", { needs }, async (kit) => {
    if (kit.keySet !== undefined) return ruledOut("a token with an unknown kid is refused in any case");
    return refuses(kit, "a kid of 257 characters", { header: { kid: "k".repeat(257) } });
  }),
  check("AUTH-23", { needs }, async (kit) => {
    const { header, payload } = texts(kit, { exp: 1 });
    const infinite = kit.tokens.mintBytes(header, payload.replace('"exp":1,', '"exp":1e999,'));
    return refusesAll(kit, [
      ["an infinite exp", infinite],
      ["an exp of 9e12", { claims: { exp: 9e12 } }],
      ["a negative iat", { claims: { iat: -1 } }],
    ]);
  }),
  check("AUTH-39", { needs }, async (kit) => {
    const { tenantClaim } = kit.settings.claims;
    const names = ["sub", "jti", "fam", tenantClaim];
    const cases = names.flatMap((claim): [string, { claims: JsonObject }][] => [
      [`NUL in ${claim}`, { claims: { [claim]: "a\0b" } }],
      [`a line break in ${claim}`, { claims: { [claim]: "a\r\nb" } }],
      [`a lone surrogate in ${claim}`, { claims: { [claim]: "a\ud800" } }],
    ]);
    return refusesAll(kit, [
      ...cases,
      ["a tenant of 256 characters", { claims: { [tenantClaim]: "t".repeat(256) } }],
    ]);
  }),
  check("AUTH-24", { needs }, (kit) =>
    refusesAll(kit, [
      ["crit: [exp]", { header: { crit: ["exp"], exp: 1 } }],
      ["crit: []", { header: { crit: [] } }],
    ]),
  ),
  check("AUTH-27", { needs: ["auth", "keys"] }, async function* (kit) {
    const { scoped, role } = kit.settings.probes;
    const { scopeClaim, rolesClaim } = kit.settings.claims;
    for (const [what, probe, claim, names] of [
      ["scopes", scoped?.request, scopeClaim, scoped?.scopes ?? []],
      ["roles", role?.request, rolesClaim, role?.roles ?? []],
    ] as const) {
      if (probe === undefined) continue;
      for (const value of [names, names.join(" ")]) {
        const { ok, status } = await kit.ask(probe, {
          token: kit.tokens.mint({ claims: { [claim]: value } }),
        });
        const form = typeof value === "string" ? "a string" : "a list";
        yield must(ok, `${status} with ${what} as ${form}`, "a list and a string are both accepted");
      }
    }
    return notApplicable("neither the probe `scoped` nor `role` was given");
  }),
  check("AUTH-28", { needs }, async function* (kit) {
    const now = kit.tokens.now();
    const { audience } = kit.tokens.keys;
    const { header, payload } = texts(kit);
    const claims: [string, JsonObject][] = [
      ["a number as sub", { sub: 7 }],
      ["an empty sub", { sub: "" }],
      ["a number as jti", { jti: 7 }],
      ["a number as fam", { fam: 7 }],
      ["exp as a string", { exp: String(now + 600) }],
      ["iat as a string", { iat: String(now) }],
      ["nbf as a string", { nbf: String(now) }],
    ];
    if (audience !== undefined) claims.push(["a number in aud", { aud: [audience, 7] }]);
    yield await refusesAll(
      kit,
      claims.map(([what, each]) => [what, { claims: each }]),
    );
    yield await refusesAll(kit, [
      ["a payload that is a list", kit.tokens.mintBytes(header, `[${payload}]`)],
      ["a number as kid", { header: { kid: 7 } }],
    ]);
    yield await accepts(kit, "timestamps with a fraction", { claims: { exp: now + 600.5, iat: now - 1.5 } });
  }),
  check("AUTH-29", { needs }, async (kit) => {
    const { leeway } = kit.tokens;
    const now = kit.tokens.now();
    const wide = [
      await accepts(kit, "", { claims: { exp: now - leeway - 15 } }),
      await accepts(kit, "", { claims: { nbf: now + leeway + 15 } }),
    ];
    if (wide.every(({ status }) => status === "pass"))
      return notApplicable("the leeway is longer than configured: see AUTH-8");
    return refuses(kit, "an iat in the future", { claims: { iat: now + leeway + 15 } });
  }),
  check("AUTH-30", { needs }, async (kit) => {
    const { leeway } = kit.tokens;
    const late = await accepts(kit, "", { claims: { exp: kit.tokens.now() - leeway - 15 } });
    if (late.status === "pass") return notApplicable("a token beyond the leeway is accepted: see AUTH-8");
    const at = serviceTime(await kit.get("/health"), kit.tokens.now());
    return refuses(kit, "an exp exactly at the leeway", { claims: { exp: at - leeway } });
  }),
  check("CLAIM-1", { needs: ["auth", "keys"] }, async function* (kit) {
    const { scoped, role } = kit.settings.probes;
    const { scopeClaim, rolesClaim } = kit.settings.claims;
    // Send `scope` as a string and `roles` as a list: the contract does not require both forms for either claim.
    for (const [usual, own, probe, value] of [
      ["scope", scopeClaim, scoped?.request, scoped?.scopes.join(" ")],
      ["roles", rolesClaim, role?.request, role?.roles],
    ] as const) {
      if (own === usual || probe === undefined) continue;
      const { status } = await kit.ask(probe, { token: kit.tokens.mint({ claims: { [usual]: value } }) });
      const held = `for a token with the required ${usual === "scope" ? "scopes" : "roles"} only in the claim`;
      yield must(status >= 400, `${status} ${held} ${usual}`, `a refusal: only the claim ${own} is read`);
      const given = await kit.ask(probe, { token: kit.tokens.mint({ claims: { [own]: value } }) });
      yield must(!isRefusal(given), `${given.status} ${held} ${own}`, "the request is accepted");
    }
    return ruledOut("the claims have their usual names");
  }),
  check("CLAIM-4", { needs: ["auth", "keys", "probe:protected"] }, async function* (kit) {
    yield await accepts(kit, "a token without typ", { claims: { typ: undefined } });
    yield await accepts(kit, "a token with typ access", { claims: { typ: "access" } });
  }),
  check("CLAIM-5", { needs: ["auth", "keys"] }, async function* (kit) {
    const { scoped, role } = kit.settings.probes;
    const grt = { scopes: scoped?.scopes ?? [], roles: role?.roles ?? [] };
    for (const probe of [scoped?.request, role?.request]) {
      if (probe === undefined) continue;
      // Another rule checks a route that accepts callers without scopes and roles.
      if ((await kit.ask(probe, { token: kit.tokens.mint() })).ok) continue;
      const answer = await kit.ask(probe, { token: kit.tokens.mint({ claims: { grt } }) });
      yield isDenied(
        answer,
        "for a token with scopes and roles only in grt",
        "a refusal, because grt grants no rights",
      );
    }
    return notApplicable("neither the probe `scoped` nor `role` was given");
  }),
  check("CLAIM-6", { needs: ["key set", "auth", "keys", "probe:protected"] }, async function* (kit) {
    const { tokens } = kit;
    const keySet = given(kit.keySet);
    const { algorithm } = tokens;
    const { first, second } = keySet;
    const signWith = { algorithm, key: second.key };
    yield await accepts(kit, "a token signed with the second key of the set", {
      header: { kid: second.kid },
      signWith,
    });
    yield await refuses(kit, "the kid of another key", { header: { kid: first.kid }, signWith });
  }),
];
