import type { Answer } from "../answer.ts";
import { must, type Verdict } from "../check.ts";
import type { Kit } from "../kit.ts";
import { strangerOf } from "../signing.ts";
import type { TokenShape } from "../tokens.ts";
import { protectedRoute, rights } from "./callers.ts";

type Case = readonly [what: string, token: TokenShape | string];

/** Checks that tokens without a valid caller get 401, which makes a client sign in again. */
export async function badTokens(kit: Kit): Promise<readonly Verdict[]> {
  const now = kit.tokens.now();
  // Other rules judge whether these are rejected.
  const spoilt: readonly Case[] = [
    ["that has expired", { claims: { iat: now - 9000, exp: now - 8000 } }],
    ["without sub", { claims: { sub: undefined } }],
    ["to refresh with", { claims: { typ: "refresh" } }],
  ];
  const answers = [
    ...(await ask(kit, await forged(kit))),
    ...(await ask(kit, spoilt)).filter(([, { ok }]) => !ok),
  ];
  return answers.map(([what, { status }]) => must(status === 401, `${status} for a token ${what}`, "401"));
}

/** Returns tokens that the issuer did not make. */
async function forged(kit: Kit): Promise<readonly Case[]> {
  const { tokens } = kit;
  const [header, payload, signature = ""] = tokens.mint(rights(kit)).split(".");
  const middle = Math.floor(signature.length / 2);
  const other = signature[middle] === "A" ? "B" : "A";
  const spoilt = `${signature.slice(0, middle)}${other}${signature.slice(middle + 1)}`;
  const { key, jwk } = await strangerOf(tokens.algorithm);
  const signWith = { algorithm: tokens.algorithm, key };
  return [
    ["that is not a JWT", "not-a-token"],
    ["with another signature", `${header}.${payload}.${spoilt}`],
    ["without its signature", `${header}.${payload}.`],
    ["that another key has signed", { signWith }],
    ["that brings its own key", { signWith, header: { ...tokens.parts().header, jwk } }],
  ];
}

function ask(kit: Kit, cases: readonly Case[]): Promise<readonly (readonly [string, Answer])[]> {
  return Promise.all(cases.map(async ([what, token]) => [what, await protectedRoute(kit, token)] as const));
}
