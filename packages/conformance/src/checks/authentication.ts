import type { Answer } from "../answer.ts";
import {
  type Check,
  check,
  every,
  must,
  type Need,
  notApplicable,
  ruledOut,
  type Verdict,
} from "../check.ts";
import type { Kit } from "../kit.ts";
import type { Algorithm } from "../options.ts";
import { type Probe, requestOf } from "../requests.ts";
import { short } from "../show.ts";
import type { TokenShape } from "../tokens.ts";
import { refreshAsBearer } from "./refresh-as-bearer.ts";
import { accepts, isRefusal, protectedRoute, refuses, refusesAll, rights } from "./callers.ts";

const needs: readonly Need[] = ["auth", "keys", "probe:protected"];

const families: readonly (readonly Algorithm[])[] = [
  ["HS256", "HS384", "HS512"],
  ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512"],
];

/** Returns algorithms that the key supports but the service does not accept. */
function foreignAlgorithms(kit: Kit): readonly Algorithm[] {
  const { algorithm, keys } = kit.tokens;
  const allowed = keys.algorithms ?? [algorithm];
  const family = families.find((each) => each.includes(algorithm)) ?? [];
  return family.filter((each) => !allowed.includes(each)).slice(0, 3);
}

/** Returns members that differ between two refusals of one token: times and ids, which reveal nothing about it. */
function volatile(one: Answer, other: Answer): ReadonlySet<string> {
  const [first, second] = [one.object ?? {}, other.object ?? {}];
  const names = Object.keys({ ...first, ...second });
  const differing = names.filter((name) => JSON.stringify(first[name]) !== JSON.stringify(second[name]));
  return new Set(["request_id", "instance", ...differing]);
}

/** Returns what a client sees of a refusal, without headers that contain digits: times, ids and lengths. */
function visible(answer: Answer, without: ReadonlySet<string>): string {
  const members = Object.entries(answer.object ?? { text: answer.text });
  const headers = answer.headers.filter(
    ([name, value]) => /^www-authenticate$/i.test(name) || !/\d/.test(value),
  );
  const named = headers.map(([name, value]) => `${name.toLowerCase()}: ${value}`).toSorted();
  return JSON.stringify([answer.status, members.filter(([name]) => !without.has(name)), named]);
}

export const authenticationChecks: readonly Check[] = [
  check("AUTH-3", { needs }, async (kit) => {
    const { key, publicKey } = kit.tokens;
    const verdicts: Verdict[] = [];
    for (const foreign of foreignAlgorithms(kit)) {
      const shape = { header: { alg: foreign }, signWith: { algorithm: foreign, key } };
      verdicts.push(await refuses(kit, `${foreign}, which is not configured`, shape));
    }
    if (publicKey !== undefined) {
      // The key confusion attack: the public key as HMAC secret.
      for (const type of ["spki", "pkcs1"] as const) {
        if (type === "pkcs1" && publicKey.asymmetricKeyType !== "rsa") continue;
        const pem = publicKey.export({ format: "pem", type }).toString();
        for (const text of [pem, pem.trim()]) {
          const signWith = { algorithm: "HS256" as const, key: Buffer.from(text) };
          verdicts.push(
            await refuses(kit, "HS256 with the public key as secret", {
              header: { alg: "HS256" },
              signWith,
            }),
          );
        }
      }
    }
    if (verdicts.length === 0) return ruledOut("all algorithms of the key are configured");
    return every(verdicts);
  }),
  check("AUTH-4", { needs }, async (kit) => {
    const verdicts: Verdict[] = [];
    for (const alg of ["none", "None", "NONE", "nOnE"]) {
      const { header, claims } = kit.tokens.parts({ header: { alg }, ...rights(kit) });
      const input = [header, claims].map((part) => Buffer.from(JSON.stringify(part)).toString("base64url"));
      for (const end of ["", "c2lnbmF0dXJl"]) {
        verdicts.push(await refuses(kit, `alg ${alg}`, [...input, end].join(".")));
      }
    }
    return every(verdicts);
  }),
  check("AUTH-6", { needs }, async (kit) => {
    const { issuer, audience } = kit.tokens.keys;
    if (issuer === undefined && audience === undefined) return ruledOut("neither issuer nor audience");
    const shapes: [string, TokenShape][] = [];
    if (issuer !== undefined) {
      shapes.push(["no iss", { claims: { iss: undefined } }]);
      shapes.push(["another iss", { claims: { iss: `${issuer}/other` } }]);
    }
    if (audience !== undefined) {
      shapes.push(["no aud", { claims: { aud: undefined } }]);
      shapes.push(["another aud", { claims: { aud: `${audience}-other` } }]);
      shapes.push(["a list of other aud", { claims: { aud: ["a", "b"] } }]);
    }
    const verdicts = [await refusesAll(kit, shapes)];
    if (audience !== undefined) {
      verdicts.push(await accepts(kit, "a list of aud with ours", { claims: { aud: ["x", audience] } }));
    }
    return every(verdicts);
  }),
  check("AUTH-8", { needs }, async (kit) => {
    const { leeway } = kit.tokens;
    const now = kit.tokens.now();
    const verdicts = [
      await refusesAll(kit, [
        ["an exp in the past", { claims: { iat: now - 900, exp: now - leeway - 15 } }],
        ["an nbf in the future", { claims: { nbf: now + leeway + 15 } }],
      ]),
    ];
    if (leeway >= 20) {
      verdicts.push(
        await accepts(kit, "an exp within the leeway", { claims: { exp: now - leeway + 15 } }),
        await accepts(kit, "an nbf within the leeway", { claims: { nbf: now + leeway - 10 } }),
        await accepts(kit, "an iat within the leeway", { claims: { iat: now + leeway - 10 } }),
      );
    }
    return every(verdicts);
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
    const good = kit.tokens.mint(rights(kit));
    const flipped = `${good.slice(0, -8)}${good.at(-8) === "A" ? "B" : "A"}${good.slice(-7)}`;
    const tokens: [string, string][] = [
      ["an expired token", kit.tokens.mint({ claims: { iat: now - 9000, exp: now - 8000 } })],
      ["a bad signature", flipped],
      ["no token at all", "x"],
      ["a missing claim", kit.tokens.mint({ claims: { sub: undefined } })],
      ["a refresh token", kit.tokens.mint({ claims: { typ: "refresh" } })],
    ];
    const answers = await Promise.all(
      tokens.map(async ([what, token]) => [what, await protectedRoute(kit, token)] as const),
    );
    // Another rule judges an accepted token, and AUTH-13 judges a 403 among 401s.
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
      () => `${other?.[0]}: ${short(visible(other?.[1] ?? again, without), 300)}`,
      () => `the same answer as to ${first[0]}: ${short(usual, 300)}`,
    );
  }),
  check("AUTH-26", { needs }, async (kit) => {
    const { keys, algorithm, key } = kit.tokens;
    const others = (keys.algorithms ?? []).filter((each) => each !== algorithm);
    const family = families.find((each) => each.includes(algorithm)) ?? [algorithm];
    const verdicts: Verdict[] = [];
    for (const each of [algorithm, ...others.filter((other) => family.includes(other))]) {
      const shape = { header: { alg: each }, signWith: { algorithm: each, key } };
      verdicts.push(await accepts(kit, `a token of ${each}`, shape));
    }
    // A service that ignores `alg` passes the checks above.
    const odd = algorithm.toLowerCase();
    verdicts.push(await refuses(kit, `alg ${odd}`, { header: { alg: odd } }));
    return every(verdicts);
  }),
  check("AUTH-33", { needs }, async (kit) => {
    const token = kit.tokens.mint(rights(kit));
    const probe: Probe = kit.settings.probes.protected ?? "/";
    const { path } = requestOf(probe);
    const ways: [string, Parameters<Kit["ask"]>[1]][] = [
      ["the query", { path: `${path}${path.includes("?") ? "&" : "?"}access_token=${token}` }],
      ["a cookie", { headers: [["Cookie", `access_token=${token}; token=${token}; jwt=${token}`]] }],
      ["another header", { headers: [["X-Access-Token", token]] }],
      ["another scheme", { headers: [["Authorization", `Token ${token}`]] }],
    ];
    const verdicts: Verdict[] = [];
    for (const [what, extra] of ways) {
      const answer = await kit.ask(probe, extra);
      verdicts.push(must(!answer.ok, `${answer.status} with a token in ${what}`, "the bearer header alone"));
    }
    return every(verdicts);
  }),
];
