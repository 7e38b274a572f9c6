import type { Answer } from "../answer.ts";
import { check, type Check, type Need } from "../check.ts";
import type { Verdict } from "../conformance-report.ts";
import { rights } from "../grant.ts";
import type { Kit } from "../kit.ts";
import { type Algorithm, algorithmGroups, type Probe } from "../option-values.ts";
import { requestOf } from "../requests.ts";
import { short } from "../show.ts";
import { type TokenShape, withOtherSignature } from "../tokens.ts";
import { every, isDenied, must, notApplicable, ruledOut } from "../verdict.ts";
import { accepts, isRefusal, protectedRoute, refusesCaller, refuses, refusesAll } from "./callers.ts";
import { logout, pairOf, signIn, visit } from "./session-calls.ts";

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
];
