import type { Algorithm } from "@svc/jwt-auth";
import { type Forgery, forge, nowSeconds } from "../support/forge.ts";
import type { Random } from "../support/random.ts";

export const issuer = "https://issuer.example";
export const audience = "expenses";
export const knownKid = "main";
export const leewaySeconds = 30;

/** A token under construction. Changes before `finish` are signed. */
export interface Draft {
  readonly algorithm: Algorithm;
  readonly header: Record<string, unknown>;
  readonly claims: Record<string, unknown>;
  /** Overrides the arguments that `finish` passes to `forge`. */
  readonly forgery: { -readonly [Name in keyof Forgery]: Forgery[Name] };
  /** Changes to the text of the signed token, applied in order. */
  readonly after: ((token: string) => string)[];
}

/** Creates a draft of a valid token with random valid content. */
export function goodDraft(algorithm: Algorithm, random: Random): Draft {
  return {
    algorithm,
    header: {
      ...maybe(random, "kid", [knownKid]),
      ...maybe(random, "typ", ["JWT", "at+jwt", "jwt"]),
      ...maybe(random, "cty", ["JWT"]),
      ...maybe(random, "x", ["", "ä", "\u{1f600}", { a: [1, null] }]),
    },
    claims: {
      sub: random.pick(["ada", "a", "user|7", "é", "\u{1f600}", "x".repeat(120)]),
      iat: nowSeconds - random.pick([0, 1, 60, 3600, 0.5, -30, -29, 86_400]),
      exp: nowSeconds + random.pick([-29, -28, 0, 1, 900, 900.75, 86_400]),
      iss: issuer,
      aud: random.pick([audience, [audience], ["billing", audience], [audience, audience]]),
      ...maybe(random, "nbf", [nowSeconds, nowSeconds + 30, nowSeconds + 29.5, nowSeconds - 60, 0]),
      ...maybe(random, "jti", ["0123456789abcdef", "", "j"]),
      ...maybe(random, "fam", ["family"]),
      ...maybe(random, "typ", ["access", "Bearer", 7]),
      ...maybe(random, "scope", ["a b", ["a", "b"], "", 7, null]),
      ...maybe(random, "roles", [["admin"], "admin", []]),
      ...maybe(random, "tenant_id", ["acme", null]),
      ...maybe(random, "auth_time", [nowSeconds - 100, "yesterday"]),
      ...maybe(random, "note", ["~~~???ÿÿÿ>>>", { deep: [[[]]] }, "y".repeat(400)]),
    },
    forgery: {},
    after: [],
  };
}

function maybe(random: Random, name: string, values: readonly unknown[]): Record<string, unknown> {
  return random.chance(0.4) ? { [name]: random.pick(values) } : {};
}

/** Signs a draft. */
export function finish(draft: Draft): string {
  const { algorithm, header, claims, forgery, after } = draft;
  const token = forge({ algorithm, header, rawPayload: JSON.stringify(claims), ...forgery });
  return after.reduce((text, change) => change(text), token);
}
